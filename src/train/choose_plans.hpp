// Turns what a run is asked to do, and the budgets, into plans: tries placements and activation
// policies until a whole step fits.
#pragma once

#include <cstdint>

#include "ebbtide/plan.hpp"
#include "src/train/candidate.hpp"
#include "src/train/options.hpp"
#include "src/train/step_plans.hpp"

namespace ebbtide::train {

// The model's part of a recipe; shared by all candidates.
struct RunModel {
  model::ModelConfig config;
  model::StepShape shape;
  model::SharedKernels device_kernels;
  model::SharedKernels host_kernels;
};

// The plans of a whole step, and of evaluation where it has tokens, under the first placement and
// policy that fit; tells of each candidate once it is tried. Blocks for seconds on large programs.
// Throws Error(kDoesNotFit) that says what the most frugal candidate lacks.
StepPlans choose_plans(const RunModel& run, const TrainOptions& options,
                       std::int64_t evaluation_tokens, const Budgets& budgets,
                       const HardwareModel& hardware, const OnTried& on_tried = {});

// The smallest device budget under which some placement and policy fit, as far as the device alone
// decides it.
std::uint64_t smallest_device_bytes(const RunModel& run, const TrainOptions& options,
                                    const Budgets& budgets);

}  // namespace ebbtide::train
