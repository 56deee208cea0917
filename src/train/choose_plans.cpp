#include "src/train/choose_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "ebbtide/error.hpp"
#include "src/report/units.hpp"
#include "src/train/placement.hpp"
#include "src/train/resolve_options.hpp"
#include "src/train/run_facts.hpp"

namespace ebbtide::train {
namespace {

using model::ActivationMode;

constexpr std::array kTiers{Tier::kDevice, Tier::kHost, Tier::kNvme};
// More than any machine has, with room to add.
constexpr std::uint64_t kUnlimitedBytes = std::uint64_t{1} << 60;

// Everything that a step needs, so that what does not fit is found before it starts.
void plan_step(StepPlans& plans, const TrainOptions& options, std::int64_t evaluation_tokens) {
  const std::int64_t count = options.run.micro_steps();
  for (const std::int64_t at : {std::int64_t{0}, std::int64_t{1}, count - 1}) {
    if (at < count) plans.micro_step(options.run.seq_len, at, count);
  }
  plans.optimizer();
  if (evaluation_tokens > 0) plans.evaluation(evaluation_tokens);
}

// Where weights, gradients and optimizer state stay.
struct Placed {
  model::StatePlacement placement;
  model::ModelHomes homes;

  std::uint64_t need(Tier tier) const { return homes.layout.bytes()[index(tier)]; }
  // Bytes by which it exceeds the budgets, all tiers together.
  std::uint64_t lack(const Budgets& budgets) const {
    std::uint64_t lack = 0;
    for (const Tier tier : kTiers)
      lack += need(tier) > budgets.of(tier) ? need(tier) - budgets.of(tier) : 0;
    return lack;
  }
  std::uint64_t weights_on_device() const {
    std::uint64_t bytes = 0;
    for (const model::ParameterHomes& parameter : homes.parameters)
      bytes += parameter.weight.tier == Tier::kDevice ? parameter.weight.size_bytes : 0;
    return bytes;
  }
};

// Those that leave no more weights on the device than --max-live-parameters.
std::vector<Placed> possible_placements(const RunModel& run, const TrainOptions& options) {
  const std::uint64_t most_live = options.memory.max_live_parameter_bytes.value_or(kNoLimit);
  std::vector<Placed> possible;
  std::uint64_t least_live = kNoLimit;
  for (const model::StatePlacement& placement : placements_to_try(options.memory)) {
    Placed placed{placement, model::lay_out_homes(run.config, run.shape, placement)};
    least_live = std::min(least_live, placed.weights_on_device());
    if (placed.weights_on_device() <= most_live) possible.push_back(std::move(placed));
  }
  if (possible.empty())
    throw Error(Errc::kDoesNotFit,
                fmt::format("--max-live-parameters {}: the weights that stay on the device take {} "
                            "bytes; raise it, or let --parameter-tier be host or nvme",
                            most_live, least_live));
  return possible;
}

bool all_resident(const model::StatePlacement& placement) {
  return placement.parameters == Tier::kDevice && placement.gradients == Tier::kDevice;
}

bool state_is_fixed(const MemoryOptions& memory) {
  return memory.parameter_tier.has_value() && memory.gradient_tier.has_value();
}

// Of the program that needs most of the device: forward and backward of a later micro-step, whose
// gradients are read and written.
std::uint64_t smallest_for(const RunModel& run, const model::ModelHomes& homes,
                           const model::ActivationPolicy& policy) {
  const model::MicroStep step{.shape = run.shape,
                              .activations = policy,
                              .gradients = model::GradientStart::kAdd,
                              .norms = model::NormPartials::kMake};
  return smallest_device_budget(
      model::forward_backward_program(run.config, homes, step, run.device_kernels));
}

// Weights and gradients stay on the device by "auto" only when all activations do too.
std::vector<model::ActivationPolicy> policies_for(const model::StatePlacement& placement,
                                                  const TrainOptions& options) {
  const bool automatic =
      options.planning.activations == ActivationMode::kAuto && !options.planning.saved_fraction;
  if (automatic && all_resident(placement) && !state_is_fixed(options.memory))
    return {{.mode = ActivationMode::kKeep, .saved_fraction = 1.0, .reach = Reach::kDevice}};
  return policies_to_try(options.planning);
}

// The first policy of a placement under which a whole step fits; nothing, and why, where none does.
std::optional<StepPlans> plan_placement(ProgramRecipe recipe, const TrainOptions& options,
                                        std::int64_t evaluation_tokens,
                                        const PlanSettings& settings, const OnTried& on_tried,
                                        std::optional<Error>& why) {
  for (const model::ActivationPolicy& policy : policies_for(recipe.placement, options)) {
    recipe.activations = policy;
    StepPlans plans(recipe, settings);
    try {
      plan_step(plans, options, evaluation_tokens);
      const double seconds = expected_step_seconds(plans, options);
      if (on_tried) on_tried({recipe.placement, policy, seconds, {}});
      return plans;
    } catch (const Error& error) {
      if (error.code() != make_error_code(Errc::kDoesNotFit)) throw;
      why = error;
      if (on_tried) on_tried({recipe.placement, policy, std::nullopt, error.what()});
    }
  }
  return std::nullopt;
}

ProgramRecipe recipe_of(const RunModel& run, const Placed& placed) {
  return {.config = run.config,
          .shape = run.shape,
          .placement = placed.placement,
          .activations = {},
          .homes = placed.homes,
          .device_kernels = run.device_kernels,
          .host_kernels = run.host_kernels};
}

// Bytes of each tier that a step takes under the most frugal policy if the tiers where the homes do
// not fit had no end; nothing where it does not fit even then.
std::optional<PerTier<std::uint64_t>> bytes_that_fit(const RunModel& run, const Placed& placed,
                                                     const TrainOptions& options,
                                                     std::int64_t evaluation_tokens,
                                                     PlanSettings settings) {
  Budgets& budgets = settings.budgets;
  ProgramRecipe recipe = recipe_of(run, placed);
  recipe.activations = policies_for(placed.placement, options).back();
  if (placed.need(Tier::kDevice) > budgets.device_bytes)
    budgets.device_bytes = smallest_for(run, placed.homes, recipe.activations);
  if (placed.need(Tier::kHost) > budgets.host_bytes) budgets.host_bytes = kUnlimitedBytes;
  if (placed.need(Tier::kNvme) > budgets.nvme_bytes) budgets.nvme_bytes = kUnlimitedBytes;
  try {
    StepPlans plans(std::move(recipe), settings);
    plan_step(plans, options, evaluation_tokens);
    return plans.reserved_bytes();
  } catch (const Error& error) {
    if (error.code() != make_error_code(Errc::kDoesNotFit)) throw;
    return std::nullopt;
  }
}

std::string lacking_homes(const Placed& placed, const Budgets& budgets) {
  std::string text;
  for (const Tier tier : kTiers) {
    if (placed.need(tier) <= budgets.of(tier)) continue;
    text += fmt::format("{}{} of {} memory for what lives there across steps",
                        text.empty() ? "needs " : ", ", report::bytes_text(placed.need(tier)),
                        name(tier));
  }
  return text;
}

Error homes_do_not_fit(const Placed& placed, const Budgets& budgets,
                       const std::optional<PerTier<std::uint64_t>>& fit) {
  std::string text = "weights, gradients and optimizer state do not fit where they stay";
  for (const Tier tier : kTiers) {
    if (placed.need(tier) <= budgets.of(tier)) continue;
    text += fmt::format("; --{}-memory {} has to be at least {} bytes", name(tier),
                        budgets.of(tier), placed.need(tier));
    if (fit) text += fmt::format(", and a step fits with {} bytes", (*fit)[index(tier)]);
  }
  return {Errc::kDoesNotFit, text};
}

// The placement that lacks least; of those that need NVMe, none where the run has none and another
// is there.
const Placed& closest(const std::vector<Placed>& possible, const Budgets& budgets) {
  const auto rank = [&](const Placed& placed) {
    const bool lacks_nvme = budgets.nvme_bytes == 0 && placed.need(Tier::kNvme) > 0;
    return std::pair(lacks_nvme, placed.lack(budgets));
  };
  return *std::ranges::min_element(possible, {}, rank);
}

}  // namespace

StepPlans choose_plans(const RunModel& run, const TrainOptions& options,
                       std::int64_t evaluation_tokens, const Budgets& budgets,
                       const HardwareModel& hardware, const OnTried& on_tried) {
  const PlanSettings settings{budgets, hardware, plan_options(options)};
  const std::vector<Placed> possible = possible_placements(run, options);
  std::optional<Error> no_plan;
  for (const Placed& placed : possible) {
    if (!homes_fit(placed.homes, budgets)) {
      if (on_tried)
        on_tried({placed.placement, policies_for(placed.placement, options).front(), std::nullopt,
                  lacking_homes(placed, budgets)});
      continue;
    }
    std::optional<StepPlans> plans = plan_placement(recipe_of(run, placed), options,
                                                    evaluation_tokens, settings, on_tried, no_plan);
    if (plans) return std::move(*plans);
  }
  if (!no_plan) {
    const Placed& placed = closest(possible, budgets);
    throw homes_do_not_fit(placed, budgets,
                           bytes_that_fit(run, placed, options, evaluation_tokens, settings));
  }
  const std::uint64_t smallest = smallest_device_bytes(run, options, budgets);
  if (budgets.device_bytes >= smallest) throw Error(*no_plan);
  throw Error(
      Errc::kDoesNotFit,
      fmt::format("--device-memory {} is too small for {} tokens in chunks of {}; the "
                  "smallest that fits is {} bytes",
                  budgets.device_bytes, run.shape.seq_len, run.shape.chunk_tokens, smallest));
}

std::uint64_t smallest_device_bytes(const RunModel& run, const TrainOptions& options,
                                    const Budgets& budgets) {
  std::uint64_t smallest = kNoLimit;
  Budgets others = budgets;
  others.device_bytes = kNoLimit;
  for (const Placed& placed : possible_placements(run, options)) {
    if (!homes_fit(placed.homes, others)) continue;
    for (const model::ActivationPolicy& policy : policies_for(placed.placement, options))
      smallest = std::min(smallest, smallest_for(run, placed.homes, policy));
  }
  return smallest;
}

}  // namespace ebbtide::train
