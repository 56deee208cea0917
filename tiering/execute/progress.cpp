#include "tiering/execute/progress.hpp"

namespace ebbtide::execute {

// The waiter announces itself and then looks at `finished`; the finisher sets `finished` and then
// looks for waiters. Both pairs are sequentially consistent, so at least one sees the other.

void Progress::reset() {
  for (LaneState& lane : lanes_) lane.finished.store(0, std::memory_order_relaxed);
  aborted_.store(false, std::memory_order_release);
}

void Progress::ring(LaneState& waiter) noexcept {
  waiter.bell.fetch_add(1);
  waiter.bell.notify_one();
}

bool Progress::is_over(const LaneState& on, std::uint32_t count) const {
  return on.finished.load() >= count || aborted_.load();
}

void Progress::finish(Lane lane, std::uint32_t count) {
  LaneState& state = of(lane);
  state.finished.store(count);
  const std::uint32_t sleepers = state.sleepers.load();
  if (sleepers == 0) return;
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    if ((sleepers >> i & 1U) != 0 && lanes_[i].wish.load() <= count) ring(lanes_[i]);
  }
}

bool Progress::await(Lane waiter, Lane on, std::uint32_t count) {
  LaneState& target = of(on);
  if (target.finished.load(std::memory_order_acquire) >= count) return !aborted();
  LaneState& me = of(waiter);
  const std::uint32_t my_bit = 1U << index(waiter);
  me.wish.store(count);
  target.sleepers.fetch_or(my_bit);
  for (;;) {
    const std::uint32_t heard = me.bell.load();  // before the look, so that no ring is lost
    if (is_over(target, count)) break;
    me.bell.wait(heard);
  }
  target.sleepers.fetch_and(~my_bit);
  return !aborted();
}

void Progress::abort() noexcept {
  aborted_.store(true);
  for (LaneState& lane : lanes_) ring(lane);
}

}  // namespace ebbtide::execute
