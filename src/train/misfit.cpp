#include "src/train/misfit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "src/report/units.hpp"
#include "src/train/budgets.hpp"
#include "src/train/resolve_options.hpp"

namespace ebbtide::train {
namespace {

constexpr std::array kTiers{Tier::kDevice, Tier::kHost, Tier::kNvme};

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

Error homes_do_not_fit(const std::vector<Placed>& possible, const Budgets& budgets) {
  const Placed& placed = closest(possible, budgets);
  std::string text = fmt::format(
      "weights, gradients and optimizer state do not fit where they stay; nearest to fit are "
      "weights on {}, gradients on {} and optimizer state on {}, for which",
      describe(placed.placement.parameters), describe(placed.placement.gradients),
      describe(placed.placement.optimizer));
  for (const Tier tier : kTiers) {
    if (placed.need(tier) <= budgets.of(tier)) continue;
    text += fmt::format(" --{}-memory {} has to be at least {} bytes,", name(tier),
                        budgets.of(tier), placed.need(tier));
  }
  return {Errc::kDoesNotFit, text + " and more for what comes and goes"};
}

namespace {

Budgets with(Budgets budgets, Tier tier, std::uint64_t bytes) {
  (tier == Tier::kDevice ? budgets.device_bytes
   : tier == Tier::kHost ? budgets.host_bytes
                         : budgets.nvme_bytes) = bytes;
  return budgets;
}

// Looks for budgets of one tier under which a run fits.
class Remedies {
 public:
  Remedies(const RunModel& run, const TrainOptions& options, std::int64_t evaluation_tokens,
           const Budgets& budgets, const HardwareModel& hardware)
      : run_(run),
        options_(options),
        evaluation_tokens_(evaluation_tokens),
        budgets_(budgets),
        hardware_(hardware) {}

  std::optional<std::uint64_t> of(Tier tier) const {
    return tier == Tier::kDevice ? of_device() : of_storage(tier);
  }

 private:
  std::optional<std::uint64_t> of_device() const {
    const std::uint64_t smallest =
        smallest_device_bytes(run_, options_, with(budgets_, Tier::kDevice, kLargestDeviceBytes));
    const bool fits = taken(Tier::kDevice, std::min(smallest, kLargestDeviceBytes)).has_value();
    return fits ? std::optional(smallest) : std::nullopt;
  }

  // Narrowed down as long as that takes no longer than a search.
  std::optional<std::uint64_t> of_storage(Tier tier) const {
    const std::int64_t chunks = run_.shape.chunks();
    const std::int64_t tasks_of_plan = run_.config.layers * chunks * (chunks + 1);
    std::uint64_t too_small = budgets_.of(tier);
    std::optional<std::uint64_t> enough = taken(tier, kUnlimitedBytes);
    for (std::int64_t tasks = 0; tasks <= kMostTasksToNarrow; tasks += tasks_of_plan) {
      if (!enough || *enough <= too_small + alignment(tier)) break;
      const std::uint64_t middle = too_small + (*enough - too_small) / 2;
      if (const std::optional<std::uint64_t> less = taken(tier, middle))
        enough = std::min(*less, middle);
      else
        too_small = middle;
    }
    return enough;
  }

  // What a step takes of the tier under that budget; nothing where it does not fit.
  std::optional<std::uint64_t> taken(Tier tier, std::uint64_t budget_bytes) const {
    try {
      return choose_plans(run_, options_, evaluation_tokens_, with(budgets_, tier, budget_bytes),
                          hardware_, {}, Effort::kFirstThatFits)
          .reserved_bytes()[index(tier)];
    } catch (const Error& error) {
      if (error.code() != make_error_code(Errc::kDoesNotFit)) throw;
      return std::nullopt;
    }
  }

  // A second or two.
  static constexpr std::int64_t kMostTasksToNarrow = 800'000;

  const RunModel& run_;
  const TrainOptions& options_;
  const std::int64_t evaluation_tokens_;
  const Budgets& budgets_;
  const HardwareModel& hardware_;
};

}  // namespace

std::vector<Remedy> remedies(const RunModel& run, const TrainOptions& options,
                             std::int64_t evaluation_tokens, const Budgets& budgets,
                             const HardwareModel& hardware) {
  const Remedies search(run, options, evaluation_tokens, budgets, hardware);
  std::vector<Remedy> found;
  for (const Tier tier : kTiers) {
    const std::optional<std::uint64_t> bytes = search.of(tier);
    if (bytes && *bytes > budgets.of(tier)) found.push_back({tier, *bytes});
  }
  return found;
}

std::uint64_t smallest_device_budget(const RunModel& run, const model::ModelHomes& homes,
                                     const model::ActivationPolicy& policy) {
  const model::MicroStep step{.shape = run.shape,
                              .activations = policy,
                              .gradients = model::GradientStart::kAdd,
                              .norms = model::NormPartials::kMake};
  return ebbtide::smallest_device_budget(
      model::forward_backward_program(run.config, homes, step, run.device_kernels));
}

}  // namespace ebbtide::train
