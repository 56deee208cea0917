#include "src/report/task_order.hpp"

#include <algorithm>

namespace ebbtide::report {

std::vector<TaskAt> by_start(const Plan& plan, const Timeline& timeline) {
  std::vector<TaskAt> order;
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    for (std::uint32_t at = 0; at < plan.tasks[lane].size(); ++at)
      order.push_back({static_cast<Lane>(lane), at});
  }
  const auto when = [&timeline](const TaskAt& task) -> const Interval& {
    return timeline.tasks[index(task.lane)][task.index];
  };
  std::stable_sort(order.begin(), order.end(), [&when](const TaskAt& a, const TaskAt& b) {
    if (when(a).start_s != when(b).start_s) return when(a).start_s < when(b).start_s;
    return when(a).end_s < when(b).end_s;
  });
  return order;
}

}  // namespace ebbtide::report
