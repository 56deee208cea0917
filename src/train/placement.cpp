#include "src/train/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ebbtide/error.hpp"
#include "src/train/resolve_options.hpp"

namespace ebbtide::train {
std::vector<model::StatePlacement> placements_to_try(const MemoryOptions& options) {
  constexpr Tier kDevice = Tier::kDevice;
  constexpr Tier kHost = Tier::kHost;
  constexpr Tier kNvme = Tier::kNvme;
  std::vector<model::StatePlacement> placements;
  for (const model::StatePlacement& wish :
       {model::StatePlacement{kDevice, kDevice, kHost}, model::StatePlacement{kHost, kHost, kHost},
        model::StatePlacement{kHost, kHost, kNvme}, model::StatePlacement{kHost, kNvme, kNvme},
        model::StatePlacement{kNvme, kNvme, kNvme}}) {
    const model::StatePlacement placement{
        .parameters = options.parameter_tier.value_or(wish.parameters),
        .gradients = options.gradient_tier.value_or(wish.gradients),
        .optimizer = options.optimizer_tier.value_or(wish.optimizer)};
    if (std::ranges::find(placements, placement) == placements.end())
      placements.push_back(placement);
  }
  return placements;
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
