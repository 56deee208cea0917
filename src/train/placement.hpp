// Where weights, gradients and optimizer state stay between their uses. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "ebbtide/plan.hpp"
#include "src/model/llama.hpp"
#include "src/train/options.hpp"

namespace ebbtide::train {

// Placements in the order in which they are tried: everything on the device (the optimizer's state
// on the host, where it runs), then on the host, then more and more on NVMe: first the optimizer's
// state, which is used once a step, then gradients, then weights. Tiers that the options fix are
// kept; no placement comes twice.
std::vector<model::StatePlacement> placements_to_try(const MemoryOptions& options);

// Whether the homes of a placement fit the budgets at all.
bool homes_fit(const model::ModelHomes& homes, const Budgets& budgets);

}  // namespace ebbtide::train
