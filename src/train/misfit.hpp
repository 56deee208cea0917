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
// homes need.
Error homes_do_not_fit(const std::vector<Placed>& possible, const Budgets& budgets);

// A budget under which a run would fit, if the others stay as they are.
struct Remedy {
  Tier tier = Tier::kDevice;
  std::uint64_t bytes = 0;
};

// One for each tier that alone can make a run fit: the smallest where the run is small enough to
// look for it. Blocks for as long as a search. Requires a run that does not fit.
std::vector<Remedy> remedies(const RunModel& run, const TrainOptions& options,
                             std::int64_t evaluation_tokens, const Budgets& budgets,
                             const HardwareModel& hardware);

// Of the program that needs most of the device: forward and backward of a later micro-step, whose
// gradients are read and written.
std::uint64_t smallest_device_budget(const RunModel& run, const model::ModelHomes& homes,
                                     const model::ActivationPolicy& policy);

}  // namespace ebbtide::train
