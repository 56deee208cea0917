// Turns what a run is asked to do, and the budgets, into plans: those of the setting whose step is
// fastest by simulation.
#pragma once

#include <cstdint>

#include "ebbtide/plan.hpp"
#include "src/train/candidate.hpp"
#include "src/train/options.hpp"
#include "src/train/placement.hpp"
#include "src/train/step_plans.hpp"

namespace ebbtide::train {

// The model's part of a recipe; shared by all candidates.
struct RunModel {
  model::ModelConfig config;
  model::StepShape shape;
  model::SharedKernels device_kernels{};  // null for programs that are planned and never run
  model::SharedKernels host_kernels{};
};

ProgramRecipe recipe_of(const RunModel& run, const Placed& placed);

enum class Effort : std::uint8_t { kFirstThatFits, kSearch };

// The plans of a whole step, and of evaluation where it has tokens, of the best candidate that the
// search finds; tells of each one once it is tried. Blocks for seconds on large programs. Throws
// Error(kDoesNotFit) that says what the most frugal candidate lacks, and what `on_tried` throws.
StepPlans choose_plans(const RunModel& run, const TrainOptions& options,
                       std::int64_t evaluation_tokens, const Budgets& budgets,
                       const HardwareModel& hardware, const OnTried& on_tried = {},
                       Effort effort = Effort::kSearch);

// The smallest device budget under which some placement and policy fit, as far as the device alone
// decides it.
std::uint64_t smallest_device_bytes(const RunModel& run, const TrainOptions& options,
                                    const Budgets& budgets);

}  // namespace ebbtide::train
