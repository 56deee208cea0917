#include "src/train/choose_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ebbtide/error.hpp"
#include "src/train/misfit.hpp"
#include "src/train/placement.hpp"
#include "src/train/resolve_options.hpp"
#include "src/train/search.hpp"

namespace ebbtide::train {
namespace {

// Five seconds or so of planning beside the first plans, proofs and simulations counted.
constexpr std::size_t kMostPlannedTasks = 800'000;

// Whether there are enough candidates in kMostPlannedTasks to choose from.
bool is_searched_whole(const RunModel& run) {
  constexpr std::int64_t kCandidates = 4;
  const std::int64_t chunks = run.shape.chunks();
  return kCandidates * run.config.layers * chunks * (chunks + 1) <
         static_cast<std::int64_t>(kMostPlannedTasks);
}

// Plans what the search tries and keeps the best plans.
class Chooser {
 public:
  Chooser(const RunModel& run, const TrainOptions& options, std::int64_t evaluation_tokens,
          const PlanSettings& settings, const std::vector<Placed>& possible,
          const OnTried& on_tried, Effort effort, std::optional<Candidate> first = {})
      : run_(run),
        options_(options),
        evaluation_tokens_(evaluation_tokens),
        settings_(settings),
        possible_(possible),
        on_tried_(on_tried),
        effort_(effort),
        first_(std::move(first)) {}

  // Nothing where nothing fits.
  std::optional<StepPlans> run() {
    tell_of_homes_that_do_not_fit();
    search(
        space(), tried_, [this](const Candidate& candidate) { attempt(candidate); },
        [this] {
          return effort_ == Effort::kFirstThatFits ||
                 planned_tasks_ + tasks_of_candidate_ > kMostPlannedTasks;
        });
    if (!kept_) return std::nullopt;
    const Candidate best = best_of(tried_).candidate;
    if (kept_candidate_ != best) kept_ = plan(best, settings_);
    if (effort_ == Effort::kSearch) tune_prefetch(best);
    return std::move(kept_);
  }

  const std::vector<Tried>& tried() const { return tried_; }
  // Of the last candidate that did not fit.
  const std::optional<Error>& why_not() const { return why_not_; }

 private:
  // Another prefetch distance has to make the step shorter than this part of it.
  static constexpr double kWorthAnother = 0.998;

  void tell_of_homes_that_do_not_fit() const {
    for (const Placed& placed : possible_) {
      if (placed.lack(settings_.budgets) == 0 || !placed.placement.is_whole() || !on_tried_)
        continue;
      on_tried_({.candidate = {placed.placement,
                               policies_to_start_with(options_, placed.placement).front(),
                               run_.shape.attention_group},
                 .why_not = lacking_homes(placed, settings_.budgets)});
    }
  }

  // How far ahead loads are issued shows only where times stray: of a few distances the one with
  // the shortest mean step is taken, and a longer one only where it gains.
  void tune_prefetch(const Candidate& best) {
    if (options_.planning.prefetch_chunk_steps) return;
    double shortest_s = mean_jittered_seconds(*kept_);
    for (const double times : {4.0, 16.0}) {
      if (planned_tasks_ + tasks_of_candidate_ > kMostPlannedTasks) return;
      planned_tasks_ += tasks_of_candidate_;
      PlanSettings settings = settings_;
      settings.options.prefetch_seconds *= times;
      StepPlans plans = plan(best, settings);
      const double mean_s = mean_jittered_seconds(plans);
      if (mean_s >= kWorthAnother * shortest_s) continue;
      shortest_s = mean_s;
      kept_ = std::move(plans);
    }
  }

  double mean_jittered_seconds(StepPlans& plans) const {
    constexpr std::uint64_t kSeeds = 4;
    double sum_s = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
      sum_s +=
          plans.jittered_seconds(options_.run.seq_len, options_.run.micro_steps(), {.seed = seed});
    return sum_s / static_cast<double>(kSeeds);
  }

  SearchSpace space() const {
    SearchSpace space;
    if (first_) space.starts.push_back(*first_);
    space.placements = placements_that_fit(possible_, settings_.budgets);
    for (const model::StatePlacement& placement : space.placements)
      for (const model::ActivationPolicy& policy : policies_to_start_with(options_, placement))
        space.starts.push_back({placement, policy, run_.shape.attention_group});
    space.policies = policies_to_change_to(options_.planning);
    space.attention_groups = groups_to_try(run_.shape, options_.planning);
    return space;
  }

  StepPlans plan(const Candidate& candidate, const PlanSettings& settings) const {
    const auto placed = std::ranges::find(possible_, candidate.placement, &Placed::placement);
    ProgramRecipe recipe = recipe_of(run_, *placed);
    recipe.activations = candidate.activations;
    recipe.shape.attention_group = candidate.attention_group;
    StepPlans plans(std::move(recipe), settings);
    plans.plan_all(options_.run.seq_len, options_.run.micro_steps(), evaluation_tokens_);
    return plans;
  }

  void attempt(const Candidate& candidate) {
    Tried tried{.candidate = candidate};
    try {
      StepPlans plans = plan(candidate, settings_);
      const StepTotals totals = plans.totals(options_.run.seq_len, options_.run.micro_steps());
      tried.fits = true;
      tried.step_seconds = totals.seconds;
      tried.op_seconds = totals.op_seconds;
      tried.nvme_bytes_written = totals.moved_bytes[index(Lane::kNvmeWrite)];
      tried.host_bytes = plans.reserved_bytes()[index(Tier::kHost)];
      tried_.push_back(tried);
      tasks_of_candidate_ = tasks_of(plans);
      keep_if_best(candidate, std::move(plans));
    } catch (const Error& error) {
      if (error.code() != make_error_code(Errc::kDoesNotFit)) throw;
      why_not_ = error;
      tried.why_not = error.what();
      tried_.push_back(tried);
    }
    planned_tasks_ += tasks_of_candidate_;
    if (on_tried_) on_tried_(tried);
  }

  static std::size_t tasks_of(const StepPlans& plans) {
    std::size_t tasks = 0;
    for (const report::Planned& planned : plans.planned())
      for (const std::vector<Task>& lane : planned.plan->tasks) tasks += lane.size();
    return tasks;
  }

  void keep_if_best(const Candidate& candidate, StepPlans plans) {
    if (best_of(tried_).candidate != candidate) return;
    kept_ = std::move(plans);
    kept_candidate_ = candidate;
  }

  const RunModel& run_;
  const TrainOptions& options_;
  const std::int64_t evaluation_tokens_;
  const PlanSettings& settings_;
  const std::vector<Placed>& possible_;
  const OnTried& on_tried_;
  const Effort effort_;
  const std::optional<Candidate> first_;
  std::vector<Tried> tried_;
  std::optional<StepPlans> kept_;
  Candidate kept_candidate_;
  std::optional<Error> why_not_;
  std::size_t planned_tasks_ = 0;
  std::size_t tasks_of_candidate_ = 0;  // of the last one that fitted
};

// Layers are alike: where whole programs are too large to try many, two layers with their part of
// the budgets say which candidate to begin with. Nothing where they are not.
std::optional<Candidate> best_of_two_layers(const RunModel& run, const TrainOptions& options,
                                            const Budgets& budgets, const HardwareModel& hardware) {
  constexpr std::int64_t kLayers = 2;
  if (run.config.layers <= 2 * kLayers || is_searched_whole(run)) return std::nullopt;
  RunModel small = run;
  small.config.layers = kLayers;
  const double part = static_cast<double>(kLayers) / static_cast<double>(run.config.layers);
  const auto part_of = [part](std::uint64_t bytes) {
    return static_cast<std::uint64_t>(part * static_cast<double>(bytes));
  };
  Budgets cut{budgets.device_bytes, part_of(budgets.host_bytes), part_of(budgets.nvme_bytes)};
  // What ops need at once is needed by two layers too.
  const std::uint64_t needed = smallest_device_bytes(small, options, cut);
  if (needed > budgets.device_bytes) return std::nullopt;
  cut.device_bytes = needed + part_of(budgets.device_bytes - needed);
  const PlanSettings settings{cut, hardware, plan_options(options, hardware)};
  const std::vector<Placed> possible =
      possible_placements(small.config, small.shape, options.memory);
  const OnTried untold;
  Chooser chooser(small, options, 0, settings, possible, untold, Effort::kSearch);
  if (!chooser.run()) return std::nullopt;
  return best_of(chooser.tried()).candidate;
}

}  // namespace

ProgramRecipe recipe_of(const RunModel& run, const Placed& placed) {
  return {.config = run.config,
          .shape = run.shape,
          .placement = placed.placement,
          .activations = {},
          .homes = placed.homes,
          .device_kernels = run.device_kernels,
          .host_kernels = run.host_kernels};
}

StepPlans choose_plans(const RunModel& run, const TrainOptions& options,
                       std::int64_t evaluation_tokens, const Budgets& budgets,
                       const HardwareModel& hardware, const OnTried& on_tried, Effort effort) {
  const PlanSettings settings{budgets, hardware, plan_options(options, hardware)};
  const std::vector<Placed> possible = possible_placements(run.config, run.shape, options.memory);
  std::optional<Candidate> first;
  if (effort == Effort::kSearch) first = best_of_two_layers(run, options, budgets, hardware);
  Chooser chooser(run, options, evaluation_tokens, settings, possible, on_tried, effort, first);
  if (std::optional<StepPlans> plans = chooser.run()) return std::move(*plans);
  if (!chooser.why_not()) throw homes_do_not_fit(possible, budgets);
  if (budgets.device_bytes >= smallest_device_bytes(run, options, budgets))
    throw Error(*chooser.why_not());
  throw Error(Errc::kDoesNotFit,
              fmt::format("--device-memory {} is too small for {} tokens in chunks of {}",
                          budgets.device_bytes, run.shape.seq_len, run.shape.chunk_tokens));
}

std::uint64_t smallest_device_bytes(const RunModel& run, const TrainOptions& options,
                                    const Budgets& budgets) {
  std::uint64_t smallest = kNoLimit;
  Budgets others = budgets;
  others.device_bytes = kNoLimit;
  for (const Placed& placed : possible_placements(run.config, run.shape, options.memory)) {
    if (placed.lack(others) > 0) continue;
    for (const model::ActivationPolicy& policy : policies_to_start_with(options, placed.placement))
      smallest = std::min(smallest, smallest_device_budget(run, placed.homes, policy));
  }
  return smallest;
}

}  // namespace ebbtide::train
