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
// state, which is used once a step, a sixteenth of it after the other, then gradients, weights.
// Tiers that the options fix are kept; no placement comes twice.
std::vector<model::StatePlacement> placements_to_try(const MemoryOptions& options);

// A placement with its homes.
struct Placed {
  model::StatePlacement placement;
  model::ModelHomes homes;

  // Bytes of a tier that the homes take.
  std::uint64_t need(Tier tier) const { return homes.layout.bytes()[index(tier)]; }
  // Bytes by which they exceed the budgets, all tiers together; 0: they fit.
  std::uint64_t lack(const Budgets& budgets) const;
  std::uint64_t weights_on_device() const;
};

// Those of `possible` whose homes fit. Of placements that differ in nothing but how much of a kind
// of state is on NVMe, the two with the least of it: one that fits, and one that leaves the host
// room for something else.
std::vector<model::StatePlacement> placements_that_fit(const std::vector<Placed>& possible,
                                                       const Budgets& budgets);

// Placements to try that leave no more weights on the device than --max-live-parameters. Throws
// Error(kDoesNotFit) if there are none.
std::vector<Placed> possible_placements(const model::ModelConfig& config,
                                        const model::StepShape& shape,
                                        const MemoryOptions& options);

}  // namespace ebbtide::train
