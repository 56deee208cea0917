#include "src/plan/strategy_time.hpp"

#include "src/plan/layer_tensors.hpp"

namespace ebbtide::plan {

StepWork sequence_work(const model::ModelConfig& config, double tokens, Recompute recompute) {
  const auto width = static_cast<double>(config.heads * config.head_dim);
  const StepWork forward{
      .matmul_flops = 2 * parameter_counts(config).all * tokens,
      .attention_flops = 2 * static_cast<double>(config.layers) * width * tokens * tokens};
  const double backward = 2;
  const double matmuls_again = recompute == Recompute::kFull ? 1 : 0;
  const double attention_again = recompute == Recompute::kNone ? 0 : 1;
  return {.matmul_flops = (1 + matmuls_again + backward) * forward.matmul_flops,
          .attention_flops = (1 + attention_again + backward) * forward.attention_flops};
}

ComputeSpeed compute_speed(const HardwareModel& rates) {
  const auto of_class = [&](OpClass op_class) {
    const double known = rates.class_rates[static_cast<std::size_t>(op_class)].per_s;
    return known > 0 ? known : rates.device_flops_per_s;
  };
  return {of_class(OpClass::kMatmul), of_class(OpClass::kAttention)};
}

double compute_seconds(const StepWork& work, const ComputeSpeed& speed, double ranks) {
  return (work.matmul_flops / speed.matmul_flops_per_s +
          work.attention_flops / speed.attention_flops_per_s) /
         ranks;
}

}  // namespace ebbtide::plan
