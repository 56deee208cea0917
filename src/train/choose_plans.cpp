#include "src/train/choose_plans.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "ebbtide/error.hpp"
#include "src/train/placement.hpp"

namespace ebbtide::train {
namespace {

using model::ActivationMode;

// Everything that a step needs, so that what does not fit is found before it starts.
void plan_step(StepPlans& plans, const TrainOptions& options, std::int64_t evaluation_tokens) {
  const std::int64_t count = options.run.micro_steps();
  for (const std::int64_t at : {std::int64_t{0}, std::int64_t{1}, count - 1}) {
    if (at < count) plans.micro_step(options.run.seq_len, at, count);
  }
  plans.optimizer();
  if (evaluation_tokens > 0) plans.evaluation(evaluation_tokens);
}

Error homes_do_not_fit(const model::ModelHomes& homes, const Budgets& budgets) {
  std::string text = "weights, gradients and optimizer state do not fit where they stay";
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
    const std::uint64_t need = homes.layout.bytes()[index(tier)];
    if (need > budgets.of(tier))
      text += fmt::format("; --{}-memory {} has to be at least {} bytes", name(tier),
                          budgets.of(tier), need);
  }
  return {Errc::kDoesNotFit, text};
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

}  // namespace

model::StepShape resolve_shape(const model::ModelConfig& config, const TrainOptions& options) {
  const RunShape& run = options.run;
  model::StepShape shape{.seq_len = run.seq_len, .dtype = run.dtype};
  const std::int64_t asked = options.planning.chunk_tokens.value_or(
      model::auto_chunk_tokens(config, run.seq_len, run.dtype));
  shape.chunk_tokens = std::min(asked, run.seq_len);
  shape.attention_group =
      options.planning.attention_group.value_or(model::auto_attention_group(config, shape));
  return shape;
}

std::vector<model::ActivationPolicy> policies_to_try(const PlanningOptions& options) {
  const Reach reach = options.activation_reach;
  const auto policy = [reach](ActivationMode mode, double fraction) {
    const bool stays = mode == ActivationMode::kKeep;
    return model::ActivationPolicy{mode, fraction, stays ? Reach::kDevice : reach};
  };
  if (options.activations == ActivationMode::kRecompute)
    return {policy(options.activations, options.saved_fraction.value_or(0.0))};
  if (options.activations != ActivationMode::kAuto || options.saved_fraction)
    return {policy(options.activations, options.saved_fraction.value_or(1.0))};
  std::vector<model::ActivationPolicy> policies;
  for (const double fraction : {1.0, 0.75, 0.5, 0.25, 0.0})
    policies.push_back(policy(ActivationMode::kAuto, fraction));
  return policies;
}

PlanOptions plan_options(const TrainOptions& options) {
  PlanOptions plan;
  if (options.planning.prefetch_chunk_steps)
    plan.prefetch_chunk_steps = static_cast<std::uint32_t>(*options.planning.prefetch_chunk_steps);
  plan.bucket_bytes = options.planning.bucket_bytes.value_or(plan.bucket_bytes);
  plan.resident_limit_bytes = {
      options.memory.max_live_parameter_bytes.value_or(std::numeric_limits<std::uint64_t>::max())};
  return plan;
}

namespace {

// The first policy of a placement under which a whole step fits; nothing, and why, where none does.
std::optional<StepPlans> plan_placement(ProgramRecipe recipe, const TrainOptions& options,
                                        std::int64_t evaluation_tokens,
                                        const PlanSettings& settings, std::optional<Error>& why) {
  for (const model::ActivationPolicy& policy : policies_for(recipe.placement, options)) {
    recipe.activations = policy;
    StepPlans plans(recipe, settings);
    try {
      plan_step(plans, options, evaluation_tokens);
      return plans;
    } catch (const Error& error) {
      if (error.code() != make_error_code(Errc::kDoesNotFit)) throw;
      why = error;
    }
  }
  return std::nullopt;
}

// Whether the placement asks for a tier that the run does not have.
bool lacks_nvme(const model::ModelHomes& homes, const Budgets& budgets) {
  return budgets.nvme_bytes == 0 && homes.layout.bytes()[index(Tier::kNvme)] > 0;
}

}  // namespace

StepPlans choose_plans(const RunModel& run, const TrainOptions& options,
                       std::int64_t evaluation_tokens, const Budgets& budgets,
                       const HardwareModel& hardware) {
  const PlanSettings settings{budgets, hardware, plan_options(options)};
  std::optional<Error> no_homes;
  std::optional<Error> no_plan;
  for (const model::StatePlacement& placement : placements_to_try(options.memory)) {
    const model::ModelHomes homes = model::lay_out_homes(run.config, run.shape, placement);
    if (!homes_fit(homes, budgets)) {
      if (!no_homes || !lacks_nvme(homes, budgets)) no_homes = homes_do_not_fit(homes, budgets);
      continue;
    }
    std::optional<StepPlans> plans = plan_placement({.config = run.config,
                                                     .shape = run.shape,
                                                     .placement = placement,
                                                     .activations = {},
                                                     .homes = homes,
                                                     .device_kernels = run.device_kernels,
                                                     .host_kernels = run.host_kernels},
                                                    options, evaluation_tokens, settings, no_plan);
    if (plans) return std::move(*plans);
  }
  if (!no_plan) throw Error(*no_homes);
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
  std::uint64_t smallest = std::numeric_limits<std::uint64_t>::max();
  Budgets others = budgets;
  others.device_bytes = std::numeric_limits<std::uint64_t>::max();
  for (const model::StatePlacement& placement : placements_to_try(options.memory)) {
    const model::ModelHomes homes = model::lay_out_homes(run.config, run.shape, placement);
    if (!homes_fit(homes, others)) continue;
    for (const model::ActivationPolicy& policy : policies_for(placement, options))
      smallest = std::min(smallest, smallest_for(run, homes, policy));
  }
  return smallest;
}

}  // namespace ebbtide::train
