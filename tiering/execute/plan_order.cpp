#include "tiering/execute/plan_order.hpp"

#include <algorithm>

#include "ebbtide/error.hpp"

namespace ebbtide::execute {

PlanOrder::PlanOrder(const Plan& plan) : plan_(plan) {
  std::size_t count = 0;
  for (const std::vector<Task>& tasks : plan.tasks) count += tasks.size();
  order_.reserve(count);
  while (order_.size() < count) {
    const std::size_t before = order_.size();
    for (std::size_t i = 0; i < kLaneCount; ++i) {
      const auto lane = static_cast<Lane>(i);
      while (is_ready(lane)) visit(lane);
    }
    EBBTIDE_CHECK(order_.size() > before, "the plan's lanes wait for each other");
  }
}

bool PlanOrder::is_ready(Lane lane) const {
  const std::size_t next = known_[index(lane)].size();
  if (next == plan_.tasks[index(lane)].size()) return false;
  return std::ranges::all_of(plan_.waits_of(plan_.tasks[index(lane)][next]),
                             [this](Wait wait) { return known_[wait.lane].size() >= wait.count; });
}

void PlanOrder::learn(Known& known, Lane lane, std::uint32_t count) const {
  if (count == 0) return;
  const Known& last = known_[index(lane)][count - 1];
  for (std::size_t i = 0; i < kLaneCount; ++i) known[i] = std::max(known[i], last[i]);
  known[index(lane)] = std::max(known[index(lane)], count);
}

void PlanOrder::visit(Lane lane) {
  std::vector<Known>& mine = known_[index(lane)];
  const auto task = static_cast<std::uint32_t>(mine.size());
  const std::uint32_t width = std::max(1U, plan_.width[index(lane)]);
  Known known = task == 0 ? Known{} : mine.back();  // tasks of a lane start in order
  if (task >= width) learn(known, lane, task + 1 - width);
  for (const Wait wait : plan_.waits_of(plan_.tasks[index(lane)][task]))
    learn(known, static_cast<Lane>(wait.lane), wait.count);
  mine.push_back(known);
  order_.push_back({lane, task});
}

}  // namespace ebbtide::execute
