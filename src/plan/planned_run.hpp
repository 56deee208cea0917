// A run as far as it can be known without running it: its plans for a machine, each program of a
// step simulated; or why there are none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ebbtide/timeline.hpp"
#include "src/hardware/machine.hpp"
#include "src/model/config.hpp"
#include "src/plan/target.hpp"
#include "src/train/candidate.hpp"
#include "src/train/choose_plans.hpp"
#include "src/train/misfit.hpp"
#include "src/train/options.hpp"
#include "src/train/step_plans.hpp"

namespace ebbtide::plan {

struct Request {
  train::TrainOptions options;
  std::optional<hardware::Machine> machine;  // none: the one at hand
  std::uint64_t ranks = 1;
};

// A program of a step, how often the step runs it, and when its tasks run.
struct SimulatedProgram {
  std::string name;
  const Program* program = nullptr;
  const Plan* plan = nullptr;
  std::int64_t times = 1;
  Timeline timeline;
};

struct PlannedRun {
  Target target;
  model::ModelConfig config;
  model::StepShape shape;
  std::vector<train::Tried> tried;
  std::optional<train::StepPlans> plans;  // none: it does not fit
  std::vector<SimulatedProgram> step;     // points into plans
  std::string why_not;
  std::vector<train::Remedy> remedies;  // of one rank

  bool fits() const { return plans.has_value(); }
  // Of the whole step, simulated.
  double step_seconds() const;
};

// Blocks for seconds on long sequences. Throws Error for what cannot be planned whatever the
// budgets; what does not fit is a result. The same request gives the same result.
PlannedRun plan_run(const Request& request, const train::OnTried& on_tried = {},
                    train::Effort effort = train::Effort::kSearch);

// The programs of a step, simulated, in the order in which they run; good as long as the plans.
std::vector<SimulatedProgram> simulate_step(train::StepPlans& plans,
                                            const train::TrainOptions& options);

// The model's shape and what every "auto" of it comes to; throws as plan_run.
model::StepShape shape_of(const Request& request, const model::ModelConfig& config);

// Looks for budgets that would do and adds them to `run`; see train::remedies.
void find_remedies(const Request& request, PlannedRun& run);

}  // namespace ebbtide::plan
