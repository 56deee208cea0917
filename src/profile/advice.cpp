#include "src/profile/advice.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "ebbtide/error.hpp"
#include "src/profile/changes.hpp"
#include "src/train/budgets.hpp"
#include "src/train/choose_plans.hpp"
#include "src/train/placement.hpp"
#include "src/train/resolve_options.hpp"

namespace ebbtide::profile {
namespace {

using report::Cause;

constexpr double kWorthACause = 0.02;   // part of the step
constexpr double kWorthAChange = 0.99;  // of the step that is left
// A larger change of the same flag has to save this part of the step more.
constexpr double kWorthMore = 0.01;
constexpr std::size_t kMostAdvice = 4;
// Plans of large programs take seconds each: then fewer are made.
constexpr std::size_t kMostPlannedTasks = 2'000'000;

struct Found {
  const Change* change = nullptr;
  double step_s = 0;
};

class Search {
 public:
  Search(const Profile& profile, const train::TrainOptions& options, const OnChange& on_change)
      : profile_(profile),
        on_change_(on_change),
        limits_(train::machine_limits(options.memory)),
        config_(train::load_any_config(options)) {}

  // Nothing where the run itself is found not to fit: then nothing can be compared.
  std::optional<std::vector<Advice>> run(const train::TrainOptions& options,
                                         const std::vector<Change>& changes) {
    const std::optional<double> base_s = searched_s({.options = options});
    if (!base_s) return std::nullopt;
    base_s_ = *base_s;
    std::map<std::string, Found> best;  // by flag
    for (const Change& change : changes) {
      const std::optional<double> step_s = pinned_s(change);
      if (!step_s || *step_s > kWorthAChange * base_s_) continue;
      const auto [at, fresh] = best.try_emplace(change.flag, Found{&change, *step_s});
      if (!fresh && *step_s < at->second.step_s - kWorthMore * base_s_)
        at->second = {&change, *step_s};
    }
    return confirmed(best);
  }

 private:
  // Planned as `train` does with these flags, the fastest first.
  std::vector<Advice> confirmed(const std::map<std::string, Found>& best) {
    std::vector<Found> order;
    for (const auto& [flag, found] : best) order.push_back(found);
    std::ranges::stable_sort(order, {}, &Found::step_s);
    std::vector<Advice> advice;
    for (const Found& found : order) {
      if (advice.size() == kMostAdvice) break;
      const std::optional<double> step_s = searched_s(*found.change);
      if (!step_s || *step_s > kWorthAChange * base_s_) continue;
      advice.push_back({.flags = found.change->flags,
                        .why = found.change->why,
                        .step_s = profile_.measured.step_s - (base_s_ - *step_s),
                        .cause = found.change->cause});
    }
    std::ranges::stable_sort(advice, {}, &Advice::step_s);
    return advice;
  }

  train::RunModel run_model(const train::TrainOptions& options) const {
    return {.config = config_, .shape = train::resolve_shape(config_, options)};
  }

  std::optional<double> searched_s(const Change& change) {
    return seconds_of(change, [&](const train::PlanSettings& settings) {
      return train::choose_plans(run_model(change.options), change.options, 0, settings.budgets,
                                 settings.hardware, [&](const train::Tried&) { tell_of(change); });
    });
  }

  // With all that the change leaves alone as it was in the run.
  std::optional<double> pinned_s(const Change& change) {
    if (planned_tasks_ > kMostPlannedTasks) return std::nullopt;
    return seconds_of(change, [&](const train::PlanSettings& settings) {
      const train::PlanningOptions& planning = change.options.planning;
      train::RunModel run = run_model(change.options);
      run.shape.attention_group =
          planning.attention_group.value_or(profile_.facts.shape.attention_group);
      model::StatePlacement placement = profile_.facts.placement;
      if (const auto& tier = change.options.memory.optimizer_tier) placement.optimizer = *tier;
      train::ProgramRecipe recipe = train::recipe_of(
          run, {placement, model::lay_out_homes(run.config, run.shape, placement)});
      recipe.placement = placement;
      recipe.activations = profile_.facts.activations;
      if (planning.saved_fraction) recipe.activations.saved_fraction = *planning.saved_fraction;
      return train::StepPlans(std::move(recipe), settings);
    });
  }

  void tell_of(const Change& change) const {
    if (on_change_) on_change_(change.flags);
  }

  // Nothing where it does not fit.
  template <typename MakePlans>
  std::optional<double> seconds_of(const Change& change, const MakePlans& make_plans) {
    tell_of(change);
    HardwareModel machine = profile_.as_measured;
    if (change.machine) change.machine(machine);
    try {
      train::StepPlans plans =
          make_plans(train::PlanSettings{budgets_of(change.options.memory), profile_.rates,
                                         train::plan_options(change.options, profile_.rates)});
      const train::RunShape& run = change.options.run;
      double seconds = 0;
      plans.for_each_of_step(
          run.seq_len, run.micro_steps(), [&](const train::PlannedProgram& planned, auto times) {
            seconds += static_cast<double>(times) *
                       simulate(planned.program, planned.plan, machine).step_seconds;
            for (const std::vector<Task>& lane : planned.plan.tasks) planned_tasks_ += lane.size();
          });
      return seconds;
    } catch (const Error& error) {
      if (error.code() == make_error_code(Errc::kDoesNotFit)) return std::nullopt;
      throw;
    }
  }

  // A budget that is not given is what it came to in the run, whatever is free by now.
  Budgets budgets_of(train::MemoryOptions memory) const {
    const Budgets& had = profile_.facts.budgets;
    const Budgets wanted{.device_bytes = memory.device_bytes.value_or(had.device_bytes),
                         .host_bytes = memory.host_bytes.value_or(had.host_bytes),
                         .nvme_bytes = memory.nvme_bytes.value_or(had.nvme_bytes)};
    if (wanted == had) return had;
    memory.device_bytes = wanted.device_bytes;
    memory.host_bytes = wanted.host_bytes;
    memory.nvme_bytes = wanted.nvme_bytes;
    return train::resolve_budgets(memory, limits_);
  }

  const Profile& profile_;
  const OnChange& on_change_;
  const train::MachineLimits limits_;
  const model::ModelConfig config_;
  std::size_t planned_tasks_ = 0;
  double base_s_ = 0;
};

// Those that take a part of the step that is worth a change, the largest first.
std::vector<Cause> causes_of(const report::Exposure& exposure) {
  std::vector<Cause> causes;
  for (std::size_t i = 0; i < report::kCauseCount; ++i)
    if (exposure.causes[i] > kWorthACause * exposure.step_s)
      causes.push_back(static_cast<Cause>(i));
  std::ranges::stable_sort(causes, std::greater<>(), [&exposure](Cause cause) {
    return exposure.causes[report::index(cause)];
  });
  return causes;
}

}  // namespace

void advise(Profile& profile, const train::TrainOptions& options, const OnChange& on_change) {
  std::vector<Change> changes;
  for (const Cause cause : causes_of(profile.measured)) {
    for (Change& change : changes_against(cause, options, profile.facts, profile.usable_threads)) {
      const bool known = std::ranges::any_of(
          changes, [&change](const Change& other) { return other.flags == change.flags; });
      if (!known) changes.push_back(std::move(change));
    }
  }
  if (changes.empty())
    profile.advice.emplace();
  else
    profile.advice = Search(profile, options, on_change).run(options, changes);
}

}  // namespace ebbtide::profile
