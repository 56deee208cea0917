#include "src/train/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ebbtide/error.hpp"
#include "src/train/resolve_options.hpp"

namespace ebbtide::train {
namespace {

// Host, then more and more of it on NVMe, then NVMe.
std::vector<model::StateTier> further_and_further() {
  constexpr int kParts = 16;
  std::vector<model::StateTier> tiers{Tier::kHost};
  for (int part = 1; part < kParts; ++part)
    tiers.emplace_back(Tier::kHost, static_cast<double>(part) / kParts);
  tiers.emplace_back(Tier::kNvme);
  return tiers;
}

std::vector<model::StatePlacement> all_placements() {
  constexpr Tier kDevice = Tier::kDevice;
  constexpr Tier kHost = Tier::kHost;
  constexpr Tier kNvme = Tier::kNvme;
  std::vector<model::StatePlacement> placements{{kDevice, kDevice, kHost}};
  for (const model::StateTier& optimizer : further_and_further())
    placements.push_back({kHost, kHost, optimizer});
  placements.push_back({kHost, kNvme, kNvme});
  placements.push_back({kNvme, kNvme, kNvme});
  return placements;
}

bool differ_in_nvme_alone(const model::StatePlacement& a, const model::StatePlacement& b) {
  return a.parameters.tier == b.parameters.tier && a.gradients.tier == b.gradients.tier &&
         a.optimizer.tier == b.optimizer.tier;
}

}  // namespace

std::vector<model::StatePlacement> placements_to_try(const MemoryOptions& options) {
  std::vector<model::StatePlacement> placements;
  for (model::StatePlacement placement : all_placements()) {
    if (options.parameter_tier) placement.parameters = *options.parameter_tier;
    if (options.gradient_tier) placement.gradients = *options.gradient_tier;
    if (options.optimizer_tier) placement.optimizer = *options.optimizer_tier;
    if (std::ranges::find(placements, placement) == placements.end())
      placements.push_back(placement);
  }
  return placements;
}

std::vector<model::StatePlacement> placements_that_fit(const std::vector<Placed>& possible,
                                                       const Budgets& budgets) {
  constexpr auto kAlike = 2;
  std::vector<model::StatePlacement> fitting;
  for (const Placed& placed : possible) {
    const auto alike = std::ranges::count_if(fitting, [&](const model::StatePlacement& other) {
      return differ_in_nvme_alone(other, placed.placement);
    });
    if (placed.lack(budgets) == 0 && alike < kAlike) fitting.push_back(placed.placement);
  }
  return fitting;
}

std::uint64_t Placed::lack(const Budgets& budgets) const {
  std::uint64_t lack = 0;
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme})
    lack += need(tier) > budgets.of(tier) ? need(tier) - budgets.of(tier) : 0;
  return lack;
}

std::uint64_t Placed::weights_on_device() const {
  std::uint64_t bytes = 0;
  for (const model::ParameterHomes& parameter : homes.parameters)
    bytes += parameter.weight.tier == Tier::kDevice ? parameter.weight.size_bytes : 0;
  return bytes;
}

std::vector<Placed> possible_placements(const model::ModelConfig& config,
                                        const model::StepShape& shape,
                                        const MemoryOptions& options) {
  const std::uint64_t most_live = options.max_live_parameter_bytes.value_or(kNoLimit);
  std::vector<Placed> possible;
  std::uint64_t least_live = kNoLimit;
  for (const model::StatePlacement& placement : placements_to_try(options)) {
    Placed placed{placement, model::lay_out_homes(config, shape, placement)};
    least_live = std::min(least_live, placed.weights_on_device());
    if (placed.weights_on_device() <= most_live) possible.push_back(std::move(placed));
  }
  if (possible.empty())
    throw Error(Errc::kDoesNotFit,
                fmt::format("--max-live-parameters {}: the weights that stay on the device take {} "
                            "bytes; raise it, or let --parameter-tier be host or nvme",
                            most_live, least_live));
  return possible;
}

}  // namespace ebbtide::train
