#include "src/train/resolve_options.hpp"

#include <algorithm>

namespace ebbtide::train {

using model::ActivationMode;

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
  plan.bucket_bytes = options.planning.bucket_bytes;
  plan.resident_limit_bytes = {options.memory.max_live_parameter_bytes.value_or(kNoLimit)};
  return plan;
}

}  // namespace ebbtide::train
