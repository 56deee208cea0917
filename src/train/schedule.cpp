#include "src/train/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ebbtide/error.hpp"

namespace ebbtide::train {
namespace {

// Fraction of the way from peak to minimum that `progress`, 0 to 1, has gone.
double fallen(Decay decay, double progress) {
  switch (decay) {
    case Decay::kConstant:
      return 0;
    case Decay::kLinear:
      return progress;
    case Decay::kCosine:
      return 0.5 * (1 - std::cos(std::numbers::pi * progress));
  }
  return 0;
}

}  // namespace

void check(const Schedule& schedule) {
  const double least = schedule.decay == Decay::kConstant ? 0 : schedule.minimum;
  if (!std::isfinite(schedule.peak) || schedule.peak < 0 || !(least >= 0 && least <= schedule.peak))
    throw Error(Errc::kBadUsage,
                fmt::format("learning rate {} with minimum {}: needs 0 <= minimum <= rate",
                            schedule.peak, least));
  if (schedule.warmup_steps < 0 || schedule.total_steps < 1)
    throw Error(Errc::kBadUsage, fmt::format("{} warm-up steps of {} steps", schedule.warmup_steps,
                                             schedule.total_steps));
}

double learning_rate(const Schedule& schedule, std::int64_t step) {
  EBBTIDE_CHECK(step >= 1, fmt::format("step {}", step));
  if (step <= schedule.warmup_steps)
    return schedule.peak * static_cast<double>(step) / static_cast<double>(schedule.warmup_steps);
  const auto decaying = static_cast<double>(schedule.total_steps - schedule.warmup_steps);
  const auto done = static_cast<double>(step - schedule.warmup_steps);
  const double progress = done >= decaying ? 1.0 : done / decaying;
  return schedule.peak - (schedule.peak - schedule.minimum) * fallen(schedule.decay, progress);
}

}  // namespace ebbtide::train
