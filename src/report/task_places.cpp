#include "src/report/task_places.hpp"

#include <algorithm>

namespace ebbtide::report {

bool TaskPlaces::waited_for_room(TaskAt task, TaskAt before) {
  gather(task, after_);
  gather(before, before_);
  if (overlap(after_.read, before_.written)) return false;
  return overlap(after_.written, before_.written) || overlap(after_.written, before_.read);
}

void TaskPlaces::gather(TaskAt at, Places& places) const {
  places.read.clear();
  places.written.clear();
  const Task& task = plan_.task(at);
  if (task.kind() == TaskKind::kOp) return gather_op(task.first, places);
  const Route tiers = route(at.lane);
  for (const Segment& segment : plan_.segments_of(task)) {
    places.read.push_back(range(tiers.from, segment.from, segment.value));
    places.written.push_back(range(tiers.to, segment.to, segment.value));
  }
}

void TaskPlaces::gather_op(OpId op, Places& places) const {
  const Tier tier = program_.operand_tier(op);
  std::uint32_t use = program_.op(op).uses_begin;
  for (const Use& operand : program_.uses(op)) {
    const Range place = range(tier, plan_.operand_address(use++), operand.value);
    if (operand.reads()) places.read.push_back(place);
    if (operand.writes()) places.written.push_back(place);
  }
}

TaskPlaces::Range TaskPlaces::range(Tier tier, std::uint64_t address, ValueId value) const {
  return {tier, address, address + extent(program_.value(value).size_bytes, tier)};
}

// Ranges of one side do not overlap each other: of those that begin before another's end, the last
// one alone can reach into it.
bool TaskPlaces::overlap(const std::vector<Range>& some, std::vector<Range>& others) {
  std::ranges::sort(others);
  return std::ranges::any_of(some, [&others](const Range& one) {
    const auto past = std::ranges::lower_bound(others, Range{one.tier, one.end, 0});
    if (past == others.begin()) return false;
    const Range& last = *std::prev(past);
    return last.tier == one.tier && last.end > one.begin;
  });
}

}  // namespace ebbtide::report
