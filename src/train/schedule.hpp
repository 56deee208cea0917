// The learning rate as a function of the step.
#pragma once

#include <cstdint>

namespace ebbtide::train {

enum class Decay : std::uint8_t { kConstant, kLinear, kCosine };

// Steps 1 to warmup_steps rise linearly, step warmup_steps at the peak; then the rate decays and
// is `minimum` at total_steps and after. kConstant stays at the peak.
struct Schedule {
  double peak = 3e-4;
  double minimum = 0;  // not used by kConstant
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;
  Decay decay = Decay::kCosine;
};

// Throws Error(kBadUsage) unless 0 <= minimum <= peak, both finite, 0 <= warmup_steps and
// 1 <= total_steps.
void check(const Schedule& schedule);

// Requires step >= 1.
double learning_rate(const Schedule& schedule, std::int64_t step);

}  // namespace ebbtide::train
