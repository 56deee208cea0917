#include "src/plan/planned_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ebbtide/error.hpp"
#include "src/train/budgets.hpp"
#include "src/train/choose_plans.hpp"
#include "src/train/resolve_options.hpp"
#include "src/train/run_facts.hpp"

namespace ebbtide::plan {
namespace {

bool does_not_fit(const Error& error) {
  return error.code() == make_error_code(Errc::kDoesNotFit);
}

// Evaluation is planned as long as training.
std::int64_t evaluation_tokens(const train::TrainOptions& options) {
  return options.evaluation.every > 0 ? options.run.seq_len : 0;
}

// Programs without kernels: they are planned, never run.
train::RunModel run_model(const model::ModelConfig& config, const model::StepShape& shape) {
  return {.config = config, .shape = shape, .device_kernels = {}, .host_kernels = {}};
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

PlannedRun plan_run(const Request& request, const train::OnTried& on_tried) {
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
        train::choose_plans(run_model(run.config, run.shape), options, evaluation_tokens(options),
                            run.target.budgets, run.target.rates, keep);
  } catch (const Error& error) {
    if (!does_not_fit(error)) throw;
    run.why_not = error.what();
    return run;
  }
  run.step = simulate_step(*run.plans, options);
  return run;
}

namespace {

// Longer programs take seconds a plan: there the first budget that is found has to do.
constexpr std::int64_t kMostChunksToNarrow = 64;
constexpr int kNarrowings = 6;

Budgets with(Budgets budgets, Tier tier, std::uint64_t bytes) {
  (tier == Tier::kDevice ? budgets.device_bytes
   : tier == Tier::kHost ? budgets.host_bytes
                         : budgets.nvme_bytes) = bytes;
  return budgets;
}

// What a step takes of the tier under these budgets; nothing where it does not fit.
std::optional<std::uint64_t> taken(const Request& request, const PlannedRun& run, Tier tier,
                                   const Budgets& budgets) {
  try {
    return train::choose_plans(run_model(run.config, run.shape), request.options,
                               evaluation_tokens(request.options), budgets, run.target.rates, {},
                               train::Effort::kFirstThatFits)
        .reserved_bytes()[index(tier)];
  } catch (const Error& error) {
    if (!does_not_fit(error)) throw;
    return std::nullopt;
  }
}

std::optional<std::uint64_t> sufficient(const Request& request, const PlannedRun& run, Tier tier) {
  const Budgets budgets = run.target.budgets;
  if (tier == Tier::kDevice) {
    constexpr std::uint64_t kMost = train::kLargestDeviceBytes;
    const std::uint64_t smallest = train::smallest_device_bytes(
        run_model(run.config, run.shape), request.options, with(budgets, tier, kMost));
    return taken(request, run, tier, with(budgets, tier, std::min(smallest, kMost)));
  }
  std::uint64_t too_small = budgets.of(tier);
  std::optional<std::uint64_t> enough =
      taken(request, run, tier, with(budgets, tier, train::kUnlimitedBytes));
  if (!enough || run.shape.chunks() > kMostChunksToNarrow) return enough;
  for (int i = 0; i < kNarrowings && too_small < *enough; ++i) {
    const std::uint64_t middle = too_small + (*enough - too_small) / 2;
    const auto less = taken(request, run, tier, with(budgets, tier, middle));
    if (less)
      enough = std::min(*less, middle);
    else
      too_small = middle;
  }
  return enough;
}

}  // namespace

void find_remedies(const Request& request, PlannedRun& run) {
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
    const std::optional<std::uint64_t> bytes = sufficient(request, run, tier);
    if (bytes && *bytes > run.target.budgets.of(tier)) run.remedies.push_back({tier, *bytes});
  }
}

}  // namespace ebbtide::plan
