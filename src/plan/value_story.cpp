#include "src/plan/value_story.hpp"

#include <algorithm>

namespace ebbtide::plan {
namespace {

class Collector {
 public:
  Collector(const SimulatedProgram& simulated, const std::set<ValueId>& values)
      : program_(*simulated.program), plan_(*simulated.plan), timeline_(simulated.timeline) {
    for (const ValueId value : values) stories_[value];
  }

  std::map<ValueId, ValueStory> collect() {
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      for (std::size_t i = 0; i < plan_.tasks[lane].size(); ++i)
        visit(static_cast<Lane>(lane), plan_.tasks[lane][i], timeline_.tasks[lane][i]);
    }
    for (auto& [value, story] : stories_)
      std::ranges::stable_sort(story.events, {}, &ValueEvent::start_s);
    return std::move(stories_);
  }

 private:
  void visit(Lane lane, const Task& task, const Interval& when) {
    ValueEvent event{lane, task.kind(), when.start_s, when.end_s};
    if (task.kind() != TaskKind::kOp) {
      for (const Segment& segment : plan_.segments_of(task)) add(segment.value, event);
      return;
    }
    event.op = task.first;
    for (const Use& use : program_.uses(task.first)) {
      event.access = use.access();
      event.after = use.leaves ? After::kLeave : After::kStay;
      add(use.value, event);
    }
  }
  void add(ValueId value, const ValueEvent& event) {
    const auto at = stories_.find(value);
    if (at != stories_.end()) at->second.events.push_back(event);
  }

  const Program& program_;
  const Plan& plan_;
  const Timeline& timeline_;
  std::map<ValueId, ValueStory> stories_;
};

}  // namespace

Tier ValueStory::lowest(const Program& program, ValueId value) const {
  const Home* home = program.home(value);
  Tier lowest = home == nullptr ? Tier::kDevice : home->tier;
  for (const ValueEvent& event : events) {
    if (event.task == TaskKind::kMove) continue;
    const Route ends = route(event.lane);
    lowest = std::max({lowest, ends.from, ends.to});
  }
  return lowest;
}

bool ValueStory::leaves_by_policy() const {
  return std::ranges::any_of(events,
                             [](const ValueEvent& event) { return event.after == After::kLeave; });
}

double ValueStory::longest_gap_s() const {
  double longest = 0;
  const ValueEvent* before = nullptr;
  for (const ValueEvent& event : events) {
    if (event.task != TaskKind::kOp) continue;
    if (before != nullptr) longest = std::max(longest, event.start_s - before->end_s);
    before = &event;
  }
  return longest;
}

std::map<ValueId, ValueStory> stories_of(const SimulatedProgram& simulated,
                                         const std::set<ValueId>& values) {
  return Collector(simulated, values).collect();
}

}  // namespace ebbtide::plan
