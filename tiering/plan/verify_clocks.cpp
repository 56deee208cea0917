#include "tiering/plan/verify_clocks.hpp"

#include <algorithm>

namespace ebbtide::verifying {

Clocks::Clocks(const Plan& plan) {
  for (std::size_t lane = 0; lane < kLaneCount; ++lane)
    clocks_[lane].reserve(plan.tasks[lane].size());
  std::size_t runs = 0;
  do {
    runs = walk_.size();
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) advance(plan, static_cast<Lane>(lane));
  } while (walk_.size() != runs);
  find_stuck(plan);
}

// Runs the lane's tasks until one waits for what has not run yet.
void Clocks::advance(const Plan& plan, Lane lane) {
  const std::vector<Task>& tasks = plan.tasks[index(lane)];
  std::vector<Clock>& clocks = clocks_[index(lane)];
  const std::uint32_t width = plan.width[index(lane)];
  const std::size_t begin = clocks.size();
  Clock clock = begin > 0 ? clocks.back() : Clock{};
  for (std::size_t i = begin; i < tasks.size(); ++i) {
    const std::span<const Wait> waits = plan.waits_of(tasks[i]);
    if (std::ranges::any_of(waits, [&](Wait w) { return w.count > done(w.lane); })) break;
    for (const Wait wait : waits) {
      if (clock.covers(wait)) continue;
      clock.join(clocks_[wait.lane][wait.count - 1]);
      clock.finished[wait.lane] = std::max<std::uint32_t>(clock.finished[wait.lane], wait.count);
    }
    std::uint32_t& own = clock.finished[index(lane)];
    if (i + 1 > width) own = std::max(own, static_cast<std::uint32_t>(i + 1 - width));
    clocks.push_back(clock);
  }
  if (clocks.size() != begin) walk_.push_back({lane, done(index(lane))});
}

// From any lane that stopped, each wait not met leads to another, in the end around a circle.
void Clocks::find_stuck(const Plan& plan) {
  const auto stopped = [&](std::size_t lane) { return done(lane) < plan.tasks[lane].size(); };
  std::size_t lane = 0;
  while (lane < kLaneCount && !stopped(lane)) ++lane;
  for (std::size_t hops = 0; lane < kLaneCount && hops <= kLaneCount; ++hops) {
    const std::uint32_t next = done(lane);
    const std::span<const Wait> waits = plan.waits_of(plan.tasks[lane][next]);
    stuck_ = Stuck{{static_cast<Lane>(lane), next}, *std::ranges::find_if(waits, [&](Wait wait) {
                     return wait.count > done(wait.lane);
                   })};
    lane = stuck_->wait.lane;
  }
}

}  // namespace ebbtide::verifying
