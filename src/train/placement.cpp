#include "src/train/placement.hpp"

#include <algorithm>

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

bool homes_fit(const model::ModelHomes& homes, const Budgets& budgets) {
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
    if (homes.layout.bytes()[index(tier)] > budgets.of(tier)) return false;
  }
  return true;
}

}  // namespace ebbtide::train
