#include "tests/profile/simulated_profile.hpp"

#include "src/train/budgets.hpp"
#include "src/train/choose_plans.hpp"
#include "src/train/resolve_options.hpp"

namespace ebbtide::profile {

train::TrainOptions demo_options() {
  train::TrainOptions options;
  options.run.seq_len = 2048;
  options.planning.chunk_tokens = 256;
  options.planning.attention_group = 1;
  options.planning.activations = model::ActivationMode::kOffload;
  options.memory.device_bytes = std::uint64_t{24} << 20;
  options.memory.host_bytes = std::uint64_t{256} << 20;
  options.memory.parameter_tier = options.memory.gradient_tier = options.memory.optimizer_tier =
      Tier::kHost;
  options.hardware = generic_cpu_hardware();
  return options;
}

Profile simulated_profile(const train::TrainOptions& options, const HardwareModel& actual,
                          const std::vector<double>& data_s) {
  const model::ModelConfig config = train::load_any_config(options);
  const train::RunModel run{.config = config,
                            .shape = train::resolve_shape(config, options),
                            .device_kernels = {},
                            .host_kernels = {}};
  const HardwareModel rates = *options.hardware;
  const Budgets budgets =
      train::resolve_budgets(options.memory, train::machine_limits(options.memory));
  train::StepPlans plans = train::choose_plans(run, options, 0, budgets, rates);
  report::StepRecord record;
  plans.for_each_of_step(options.run.seq_len, options.run.micro_steps(),
                         [&](const train::PlannedProgram& planned, std::int64_t /*times*/) {
                           Timeline timeline = simulate(planned.program, planned.plan, actual);
                           record.step_seconds += timeline.step_seconds;
                           record.runs.push_back({planned.name, &planned.program, &planned.plan, 0,
                                                  std::move(timeline)});
                         });
  StepSummary summary(0, rates);
  train::RunFacts facts;
  facts.shape = plans.recipe().shape;
  facts.placement = plans.recipe().placement;
  facts.activations = plans.recipe().activations;
  facts.budgets = budgets;
  facts.threads = 1;
  summary.planned(facts, {});
  const double run_s = record.step_seconds;
  for (const double seconds : data_s) {
    ++record.step;
    record.data_seconds = seconds;
    record.step_seconds = run_s + seconds;
    summary.recorded(record);
  }
  Profile profile = summary.profile();
  profile.usable_threads = 2;
  return profile;
}

}  // namespace ebbtide::profile
