#include "src/train/misfit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/report/units.hpp"
#include "src/train/budgets.hpp"
#include "src/train/resolve_options.hpp"

namespace ebbtide::train {
namespace {

constexpr std::array kTiers{Tier::kDevice, Tier::kHost, Tier::kNvme};

// Bytes of each tier that a step takes under the most frugal policy if the tiers where the homes do
// not fit had no end; nothing where it does not fit even then.
std::optional<PerTier<std::uint64_t>> bytes_that_fit(const RunModel& run, const Placed& placed,
                                                     const TrainOptions& options,
                                                     std::int64_t evaluation_tokens,
                                                     PlanSettings settings) {
  Budgets& budgets = settings.budgets;
  ProgramRecipe recipe = recipe_of(run, placed);
  recipe.activations = policies_to_start_with(options, placed.placement).back();
  if (placed.need(Tier::kDevice) > budgets.device_bytes)
    budgets.device_bytes = smallest_device_budget(run, placed.homes, recipe.activations);
  if (placed.need(Tier::kHost) > budgets.host_bytes) budgets.host_bytes = kUnlimitedBytes;
  if (placed.need(Tier::kNvme) > budgets.nvme_bytes) budgets.nvme_bytes = kUnlimitedBytes;
  try {
    StepPlans plans(std::move(recipe), settings);
    plans.plan_all(options.run.seq_len, options.run.micro_steps(), evaluation_tokens);
    return plans.reserved_bytes();
  } catch (const Error& error) {
    if (error.code() != make_error_code(Errc::kDoesNotFit)) throw;
    return std::nullopt;
  }
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

Error homes_do_not_fit(const RunModel& run, const TrainOptions& options,
                       std::int64_t evaluation_tokens, const std::vector<Placed>& possible,
                       const PlanSettings& settings) {
  const Budgets& budgets = settings.budgets;
  const Placed& placed = closest(possible, budgets);
  const std::optional<PerTier<std::uint64_t>> fit =
      bytes_that_fit(run, placed, options, evaluation_tokens, settings);
  std::string text = fmt::format(
      "weights, gradients and optimizer state do not fit where they stay; nearest to fit are "
      "weights "
      "on {}, gradients on {} and optimizer state on {}, which all of this takes",
      describe(placed.placement.parameters), describe(placed.placement.gradients),
      describe(placed.placement.optimizer));
  for (const Tier tier : kTiers) {
    if (placed.need(tier) <= budgets.of(tier)) continue;
    text += fmt::format("; --{}-memory {} has to be at least {} bytes", name(tier),
                        budgets.of(tier), placed.need(tier));
    if (fit) text += fmt::format(", and a step fits with {} bytes", (*fit)[index(tier)]);
  }
  return {Errc::kDoesNotFit, text};
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
