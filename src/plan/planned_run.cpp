#include "src/plan/planned_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ebbtide/error.hpp"
#include "src/train/choose_plans.hpp"
#include "src/train/misfit.hpp"
#include "src/train/resolve_options.hpp"
#include "src/train/run_facts.hpp"

namespace ebbtide::plan {
namespace {

bool does_not_fit(const Error& error) {
  return error.code() == make_error_code(Errc::kDoesNotFit);
}

}  // namespace

std::vector<SimulatedProgram> simulate_step(train::StepPlans& plans,
                                            const train::TrainOptions& options) {
  std::vector<SimulatedProgram> step;
  const HardwareModel& rates = plans.settings().hardware;
  plans.for_each_of_step(options.run.seq_len, options.run.micro_steps(),
                         [&](const train::PlannedProgram& planned, std::int64_t times) {
                           step.push_back({planned.name, &planned.program, &planned.plan, times,
                                           simulate(planned.program, planned.plan, rates)});
                         });
  return step;
}

double PlannedRun::step_seconds() const {
  double seconds = 0;
  for (const SimulatedProgram& program : step)
    seconds += static_cast<double>(program.times) * program.timeline.step_seconds;
  return seconds;
}

model::StepShape shape_of(const Request& request, const model::ModelConfig& config) {
  return train::resolve_shape(
      config, request.options,
      model::deal_ranks(static_cast<std::int64_t>(request.ranks), config.heads));
}

PlannedRun plan_run(const Request& request, const train::OnTried& on_tried, train::Effort effort) {
  const train::TrainOptions& options = request.options;
  PlannedRun run;
  run.config = train::load_any_config(options);
  run.shape = shape_of(request, run.config);
  run.target =
      request.machine ? target_of(*request.machine, options, request.ranks) : this_machine(options);
  const auto keep = [&](const train::Tried& tried) {
    run.tried.push_back(tried);
    if (on_tried) on_tried(tried);
  };
  try {
    run.plans =
        train::choose_plans({run.config, run.shape}, options, train::evaluated_tokens(options),
                            run.target.budgets, run.target.rates, keep, effort);
  } catch (const Error& error) {
    if (!does_not_fit(error)) throw;
    run.why_not = error.what();
    return run;
  }
  run.step = simulate_step(*run.plans, options);
  return run;
}

void find_remedies(const Request& request, PlannedRun& run) {
  run.remedies = train::remedies({run.config, run.shape}, request.options,
                                 train::evaluated_tokens(request.options), run.target.budgets,
                                 run.target.rates);
}

}  // namespace ebbtide::plan
