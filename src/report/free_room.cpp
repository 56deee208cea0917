#include "src/report/free_room.hpp"

#include <algorithm>

#include "src/report/occupancy.hpp"

namespace ebbtide::report {

void FreeRoom::find_what_is_held() {
  held_.emplace();
  const PerTier<std::vector<HeldChange>> changes = held_changes(program_, plan_, timeline_);
  for (std::size_t tier = 0; tier < kTierCount; ++tier) {
    std::vector<Held>& held = (*held_)[tier];
    std::int64_t bytes = 0;
    for (const HeldChange& change : changes[tier]) {
      bytes += change.bytes;
      if (held.empty() || held.back().since_s != change.at_s) held.push_back({change.at_s, 0});
      held.back().bytes = static_cast<std::uint64_t>(bytes);
    }
  }
}

double FreeRoom::since_s(TaskAt transfer, double until_s, double not_before_s) {
  if (!held_) find_what_is_held();
  const Tier tier = route(transfer.lane).to;
  std::uint64_t wanted = program_.home_bytes()[index(tier)];
  for (const Segment& segment : plan_.segments_of(plan_.task(transfer)))
    wanted += extent(program_.value(segment.value).size_bytes, tier);
  const std::vector<Held>& held = (*held_)[index(tier)];
  double since_s = until_s;
  auto at = std::ranges::lower_bound(held, until_s, {}, &Held::since_s);
  while (since_s > not_before_s) {
    const std::uint64_t bytes = at == held.begin() ? 0 : std::prev(at)->bytes;
    if (bytes + wanted > plan_.budgets.of(tier)) return since_s;
    if (at == held.begin()) break;
    since_s = (--at)->since_s;
  }
  return not_before_s;
}

}  // namespace ebbtide::report
