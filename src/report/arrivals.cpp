#include "src/report/arrivals.hpp"

#include <algorithm>

namespace ebbtide::report {

std::optional<TaskAt> Arrivals::of(TaskAt transfer) {
  if (!arrivals_) list();
  const std::vector<Arrival>& there = (*arrivals_)[index(route(transfer.lane).from)];
  const double start_s = timeline_.tasks[index(transfer.lane)][transfer.index].start_s;
  std::optional<Arrival> last;
  for (const Segment& segment : plan_.segments_of(plan_.task(transfer))) {
    const auto past =
        std::upper_bound(there.begin(), there.end(), Arrival{segment.value, start_s, {}});
    if (past == there.begin() || std::prev(past)->value != segment.value) continue;
    if (!last || std::prev(past)->at_s > last->at_s) last = *std::prev(past);
  }
  return last ? std::optional(last->by) : std::nullopt;
}

void Arrivals::list() {
  arrivals_.emplace();
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    const Lane lane = static_cast<Lane>(i);
    std::vector<Arrival>& there = (*arrivals_)[index(route(lane).to)];
    for (std::uint32_t at = 0; at < plan_.tasks[i].size(); ++at) {
      const Task& task = plan_.tasks[i][at];
      const double end_s = timeline_.tasks[i][at].end_s;
      if (task.kind() == TaskKind::kOp) add_op(task, end_s, {lane, at});
      if (task.kind() != TaskKind::kTransfer) continue;
      for (const Segment& segment : plan_.segments_of(task))
        there.push_back({segment.value, end_s, {lane, at}});
    }
  }
  for (std::vector<Arrival>& of_tier : *arrivals_) std::sort(of_tier.begin(), of_tier.end());
}

void Arrivals::add_op(const Task& task, double end_s, TaskAt at) {
  std::vector<Arrival>& there = (*arrivals_)[index(program_.operand_tier(task.first))];
  for (const Use& use : program_.uses(task.first))
    if (use.writes()) there.push_back({use.value, end_s, at});
}

}  // namespace ebbtide::report
