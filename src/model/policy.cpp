#include "src/model/policy.hpp"

#include <fmt/format.h>

#include <cmath>

#include "ebbtide/error.hpp"

namespace ebbtide::model {
namespace {

std::int64_t saved_chunks(double fraction, std::int64_t chunks) {
  EBBTIDE_CHECK(fraction >= 0 && fraction <= 1, fmt::format("saved fraction {}", fraction));
  // 0.1 * 10 is a little over 1 in doubles; it means 1
  constexpr double kRounding = 1e-9;
  return static_cast<std::int64_t>(std::ceil(fraction * static_cast<double>(chunks) - kRounding));
}

}  // namespace

SavingRule::SavingRule(const ActivationPolicy& policy, std::int64_t chunks) : reach_(policy.reach) {
  SavedFraction fraction = policy.saved_fraction;
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
  for (const SavedPart part : {SavedPart::kNorms, SavedPart::kHeads, SavedPart::kMlp})
    first_saved_[static_cast<std::size_t>(part)] = chunks - saved_chunks(fraction.of(part), chunks);
}

namespace {

std::string describe(const SavedFraction& saved) {
  if (saved.even()) return fmt::format("{:.0f} % saved", 100 * saved.norms);
  return fmt::format("norms {:.0f}, heads {:.0f}, MLP {:.0f} % saved", 100 * saved.norms,
                     100 * saved.heads, 100 * saved.mlp);
}

}  // namespace

std::string describe(const ActivationPolicy& policy) {
  switch (policy.mode) {
    case ActivationMode::kKeep:
      return "kept";
    case ActivationMode::kOffload:
      return "offloaded, " + describe(policy.saved_fraction);
    case ActivationMode::kRecompute:
      return "recomputed";
    case ActivationMode::kAuto:
      break;
  }
  return "kept or offloaded, " + describe(policy.saved_fraction);
}

}  // namespace ebbtide::model
