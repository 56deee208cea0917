// How far each lane has come, and sleep until another has come far enough.
//
// Thread safety: finish() is called by one thread at a time for each lane, await() by one thread at
// a time for each waiting lane; abort() by any thread. reset() needs all of them at rest.
//
// Invariants
//  1. What happened before finish(lane, n) is seen by whoever has awaited n tasks of that lane.
//  2. A lane that waits sleeps, and is woken only when what it waits for is there: nothing polls.
#pragma once

#include <atomic>
#include <cstdint>

#include "ebbtide/types.hpp"

namespace ebbtide::execute {

class Progress {
 public:
  void reset();
  // `lane` has finished its first `count` tasks.
  void finish(Lane lane, std::uint32_t count);
  // Blocks until `on` has finished its first `count` tasks; false if the run was aborted instead.
  bool await(Lane waiter, Lane on, std::uint32_t count);
  // Wakes everybody; from now on await() returns false.
  void abort() noexcept;

  std::uint32_t finished(Lane lane) const {
    return of(lane).finished.load(std::memory_order_acquire);
  }
  bool aborted() const { return aborted_.load(std::memory_order_acquire); }

 private:
  // Each on its own cache lines: neighbours are written by other threads.
  struct alignas(128) LaneState {
    std::atomic<std::uint32_t> finished{0};
    std::atomic<std::uint32_t> sleepers{0};  // bit i: lane i waits for this one
    std::atomic<std::uint32_t> wish{0};      // the count that this lane, as a waiter, waits for
    std::atomic<std::uint32_t> bell{0};      // rung to wake this lane
  };

  LaneState& of(Lane lane) { return lanes_[index(lane)]; }
  const LaneState& of(Lane lane) const { return lanes_[index(lane)]; }
  static void ring(LaneState& waiter) noexcept;
  bool is_over(const LaneState& on, std::uint32_t count) const;

  PerLane<LaneState> lanes_;
  std::atomic<bool> aborted_{false};
};

}  // namespace ebbtide::execute
