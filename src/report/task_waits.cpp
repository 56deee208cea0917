#include "src/report/task_waits.hpp"

#include <algorithm>

namespace ebbtide::report {

TaskWaits::TaskWaits(const Plan& plan, const Timeline& timeline)
    : plan_(plan), timeline_(timeline) {
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    std::vector<std::uint32_t>& last = last_of_prefix_[lane];
    const std::vector<Interval>& tasks = timeline.tasks[lane];
    last.reserve(tasks.size());
    for (std::uint32_t i = 0; i < tasks.size(); ++i)
      last.push_back(i > 0 && tasks[last.back()].end_s > tasks[i].end_s ? last.back() : i);
  }
}

TaskAt TaskWaits::last_of(Lane lane, std::uint32_t count) const {
  return {lane, last_of_prefix_[index(lane)][count - 1]};
}

double TaskWaits::ready_s(TaskAt at) const {
  if (at.index == 0) return 0;
  const std::uint32_t width = std::max(plan_.width[index(at.lane)], 1U);
  const double turn_s = timeline_.tasks[index(at.lane)][at.index - 1].start_s;
  if (at.index < width) return turn_s;
  return std::max(turn_s, end_s(last_of(at.lane, at.index + 1 - width)));
}

TaskWait TaskWaits::of(TaskAt at) const {
  const double ready = ready_s(at);
  TaskWait wait;
  wait.seconds = std::max(0.0, timeline_.tasks[index(at.lane)][at.index].start_s - ready);
  double latest_s = ready;
  for (const Wait on : plan_.waits_of(plan_.task(at))) {
    if (on.count == 0) continue;
    const TaskAt last = last_of(static_cast<Lane>(std::uint32_t{on.lane}), on.count);
    if (end_s(last) <= latest_s) continue;
    latest_s = end_s(last);
    wait.waited_for = last;
  }
  return wait;
}

}  // namespace ebbtide::report
