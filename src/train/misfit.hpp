// Why a run does not fit, and what would.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ebbtide/error.hpp"
#include "src/train/choose_plans.hpp"
#include "src/train/placement.hpp"

namespace ebbtide::train {

// "needs 12 GiB of host memory for what lives there across steps"
std::string lacking_homes(const Placed& placed, const Budgets& budgets);

// Requires placements of which none has homes that fit. Names for the one that lacks least what its
// homes need and with what a whole step fits. Plans a step.
Error homes_do_not_fit(const RunModel& run, const TrainOptions& options,
                       std::int64_t evaluation_tokens, const std::vector<Placed>& possible,
                       const PlanSettings& settings);

// Of the program that needs most of the device: forward and backward of a later micro-step, whose
// gradients are read and written.
std::uint64_t smallest_device_budget(const RunModel& run, const model::ModelHomes& homes,
                                     const model::ActivationPolicy& policy);

}  // namespace ebbtide::train
