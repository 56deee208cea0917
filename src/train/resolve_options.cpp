#include "src/train/resolve_options.hpp"

#include <algorithm>
#include <array>

namespace ebbtide::train {

using model::ActivationMode;

namespace {

bool all_resident(const model::StatePlacement& placement) {
  return placement.parameters == Tier::kDevice && placement.gradients == Tier::kDevice;
}

bool state_is_fixed(const MemoryOptions& memory) {
  return memory.parameter_tier.has_value() && memory.gradient_tier.has_value();
}

bool is_automatic(const PlanningOptions& options) {
  return options.activations == ActivationMode::kAuto && !options.saved_fraction;
}

}  // namespace

model::StepShape resolve_shape(const model::ModelConfig& config, const TrainOptions& options,
                               const model::RankShape& ranks) {
  const RunShape& run = options.run;
  model::StepShape shape{.seq_len = run.seq_len, .dtype = run.dtype, .ranks = ranks};
  const std::int64_t asked = options.planning.chunk_tokens.value_or(
      model::auto_chunk_tokens(config, run.seq_len, run.dtype, ranks));
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

std::vector<model::ActivationPolicy> policies_to_start_with(
    const TrainOptions& options, const model::StatePlacement& placement) {
  if (is_automatic(options.planning) && all_resident(placement) && !state_is_fixed(options.memory))
    return {{.mode = ActivationMode::kKeep, .saved_fraction = 1.0, .reach = Reach::kDevice}};
  return policies_to_try(options.planning);
}

// A norm's output takes as much room as what costs a product, and one pass over memory to make
// again: where anything is recomputed, norms are first.
std::vector<model::ActivationPolicy> policies_to_change_to(const PlanningOptions& options) {
  if (!is_automatic(options)) return policies_to_try(options);
  // Those that differ most come first: of large programs only some are tried.
  const std::array fractions{model::SavedFraction(0, 1, 0),     model::SavedFraction(0.0),
                             model::SavedFraction(0, 0.5, 0.5), model::SavedFraction(0, 0.25, 0.25),
                             model::SavedFraction(0, 1, 1),     model::SavedFraction(0, 0.75, 0.75),
                             model::SavedFraction(0, 0, 1),     model::SavedFraction(1.0)};
  const bool leaves = options.activation_reach != Reach::kDevice;
  std::vector<model::ActivationPolicy> policies;
  for (const ActivationMode mode : {ActivationMode::kOffload, ActivationMode::kAuto})
    for (const model::SavedFraction& fraction : fractions)
      if (mode == ActivationMode::kAuto || (leaves && fraction != model::SavedFraction(0.0)))
        policies.push_back({mode, fraction, options.activation_reach});
  return policies;
}

std::vector<std::int64_t> groups_to_try(const model::StepShape& shape,
                                        const PlanningOptions& options) {
  if (options.attention_group) return {shape.attention_group};
  std::vector<std::int64_t> groups;
  for (const std::int64_t group : {1, 2, 4, 8})
    if (group <= shape.chunks()) groups.push_back(group);
  return groups;
}

PlanOptions plan_options(const TrainOptions& options, const HardwareModel& hardware) {
  PlanOptions plan;
  plan.prefetch_seconds = std::max(plan.prefetch_seconds, 2 * hardware.nvme_latency_p99_s);
  if (options.planning.prefetch_chunk_steps)
    plan.prefetch_chunk_steps = static_cast<std::uint32_t>(*options.planning.prefetch_chunk_steps);
  plan.bucket_bytes = options.planning.bucket_bytes;
  plan.resident_limit_bytes = {options.memory.max_live_parameter_bytes.value_or(kNoLimit)};
  return plan;
}

HardwareModel paced(HardwareModel hardware, const TransferOptions& transfer) {
  if (!transfer.link_bytes_per_s) return hardware;
  SharedRates& shared = hardware.shared;
  for (double* rate : {&hardware.d2h.bytes_per_s, &hardware.h2d.bytes_per_s,
                       &shared.link_bytes_per_s, &shared.link_both_ways_bytes_per_s})
    *rate = std::min(*rate, *transfer.link_bytes_per_s);
  return hardware;
}

std::int64_t evaluated_tokens(const TrainOptions& options) {
  return options.evaluation.every > 0 ? options.run.seq_len : 0;
}

HardwareModel rates_of(const TrainOptions& options) {
  return paced(options.hardware.value_or(generic_cpu_hardware()), options.transfer);
}

}  // namespace ebbtide::train
