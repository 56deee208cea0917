#include "src/model/policy.hpp"

#include <fmt/format.h>

#include <cmath>

#include "ebbtide/error.hpp"

namespace ebbtide::model {
namespace {

std::int64_t saved_chunks(double fraction, std::int64_t chunks) {
  // 0.1 * 10 is a little over 1 in doubles; it means 1
  constexpr double kRounding = 1e-9;
  return static_cast<std::int64_t>(std::ceil(fraction * static_cast<double>(chunks) - kRounding));
}

}  // namespace

SavingRule::SavingRule(const ActivationPolicy& policy, std::int64_t chunks) : reach_(policy.reach) {
  EBBTIDE_CHECK(policy.saved_fraction >= 0 && policy.saved_fraction <= 1,
                fmt::format("saved fraction {}", policy.saved_fraction));
  double fraction = policy.saved_fraction;
  switch (policy.mode) {
    case ActivationMode::kKeep:
      reach_ = Reach::kDevice;
      break;
    case ActivationMode::kOffload:
      EBBTIDE_CHECK(policy.reach != Reach::kDevice, "offloaded activations that never leave");
      after_ = After::kLeave;
      break;
    case ActivationMode::kRecompute:
      fraction = 0;
      break;
    case ActivationMode::kAuto:
      break;
  }
  first_saved_ = chunks - saved_chunks(fraction, chunks);
}

}  // namespace ebbtide::model
