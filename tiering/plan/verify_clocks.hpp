// The order that a plan's waits prove, as vector clocks.
//
// A clock says, of every lane, how many of its first tasks have finished. A task's clock is what
// its start implies: the waits met by it and by every task before it in its lane, the tasks that
// the lane's width keeps out of flight, and all that the starts of those finished tasks implied.
// Waits speak of prefixes only, so a prefix a lane is all that can be known: task a is ordered
// before the start of b if and only if b's clock counts a.
//
// Immutable once made; shareable.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ebbtide/plan.hpp"

namespace ebbtide::verifying {

// Padded to a power of two, so that comparing and joining clocks takes one vector instruction.
struct alignas(32) Clock {
  std::array<std::uint32_t, 8> finished{};  // by lane

  void join(const Clock& other) {
    for (std::size_t i = 0; i < finished.size(); ++i)
      finished[i] = finished[i] < other.finished[i] ? other.finished[i] : finished[i];
  }
  bool covers(const Clock& other) const {
    std::uint32_t behind = 0;
    for (std::size_t i = 0; i < finished.size(); ++i)
      behind |= static_cast<std::uint32_t>(finished[i] < other.finished[i]);
    return behind == 0;
  }
  bool covers(Wait wait) const { return finished[wait.lane] >= wait.count; }
};

// That the task has finished: the wait that lets another come after it.
inline Wait finish_of(TaskAt task) {
  return {static_cast<std::uint32_t>(task.lane) & 7U, (task.index + 1) & 0x1fffffffU};
}

class Clocks {
 public:
  // A stretch of one lane's tasks, up to `end`.
  struct Run {
    Lane lane = Lane::kCompute;
    std::uint32_t end = 0;
  };

  // Requires every wait to name a lane. Ends early where no lane can go on.
  explicit Clocks(const Plan& plan);

  const Clock& at_start(TaskAt task) const { return clocks_[index(task.lane)][task.index]; }
  // All tasks that can run, in one order that the waits allow.
  std::span<const Run> walk() const { return walk_; }
  // A task of a circle of waits, if there is one, and the wait that can never be met.
  struct Stuck {
    TaskAt task;
    Wait wait{};
  };
  const std::optional<Stuck>& stuck() const { return stuck_; }

 private:
  void advance(const Plan& plan, Lane lane);
  void find_stuck(const Plan& plan);
  std::uint32_t done(std::size_t lane) const {
    return static_cast<std::uint32_t>(clocks_[lane].size());
  }

  PerLane<std::vector<Clock>> clocks_;
  std::vector<Run> walk_;
  std::optional<Stuck> stuck_;
};

}  // namespace ebbtide::verifying
