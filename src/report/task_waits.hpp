// How long each task stood ready but for others, and for whom.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/timeline.hpp"

namespace ebbtide::report {

struct TaskWait {
  double seconds = 0;                // from when its lane had room for it to its start
  std::optional<TaskAt> waited_for;  // what ended last of all that it waited for meanwhile
};

// Of one run. Plan and timeline outlive it.
class TaskWaits {
 public:
  TaskWaits(const Plan& plan, const Timeline& timeline);
  TaskWait of(TaskAt at) const;

 private:
  double end_s(TaskAt at) const { return timeline_.tasks[index(at.lane)][at.index].end_s; }
  // Of the first `count` tasks of a lane, the one that ended last.
  TaskAt last_of(Lane lane, std::uint32_t count) const;
  // When the lane had room for the task, and it was its turn.
  double ready_s(TaskAt at) const;

  const Plan& plan_;
  const Timeline& timeline_;
  PerLane<std::vector<std::uint32_t>> last_of_prefix_;
};

}  // namespace ebbtide::report
