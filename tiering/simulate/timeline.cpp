#include "ebbtide/timeline.hpp"

#include <algorithm>

namespace ebbtide {

double Timeline::busy_seconds(Lane lane) const {
  double busy_s = 0;
  double until_s = 0;  // all before is counted; tasks start in order
  for (const Interval& task : tasks[index(lane)]) {
    busy_s += std::max(0.0, task.end_s - std::max(task.start_s, until_s));
    until_s = std::max(until_s, task.end_s);
  }
  return busy_s;
}

// The first task of the device that waits for a load stands for what needs it: it came to that when
// its own task before had ended.
LoadCount Timeline::loads(const Plan& plan) const {
  const std::size_t h2d = index(Lane::kH2d);
  const std::size_t compute = index(Lane::kCompute);
  LoadCount count;
  std::uint32_t load = 0;
  double free_s = 0;  // the device has done all that stands before its task
  for (std::size_t i = 0; i < plan.tasks[compute].size(); ++i) {
    for (const Wait wait : plan.waits_of(plan.tasks[compute][i])) {
      if (wait.lane != h2d) continue;
      for (; load < wait.count; ++load) {
        const std::uint32_t values = plan.tasks[h2d][load].count;
        count.all += values;
        if (tasks[h2d][load].end_s <= free_s) count.in_time += values;
      }
    }
    free_s = std::max(free_s, tasks[compute][i].end_s);
  }
  return count;
}

}  // namespace ebbtide
