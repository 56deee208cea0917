// What happens to values in the course of a planned program: every op that uses one of them and
// every transfer of it, by simulated time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "src/plan/planned_run.hpp"

namespace ebbtide::plan {

struct ValueEvent {
  Lane lane = Lane::kCompute;
  TaskKind task = TaskKind::kOp;
  double start_s = 0;
  double end_s = 0;
  OpId op = 0;  // of kOp, as the rest
  Access access = Access::kRead;
  After after = After::kStay;
};

struct ValueStory {
  std::vector<ValueEvent> events;  // by start

  // The lowest tier that it comes to, or starts from.
  Tier lowest(const Program& program, ValueId value) const;
  // Whether it leaves the device because its use says so.
  bool leaves_by_policy() const;
  // The longest time between two uses on the device, seconds.
  double longest_gap_s() const;
};

std::map<ValueId, ValueStory> stories_of(const SimulatedProgram& simulated,
                                         const std::set<ValueId>& values);

}  // namespace ebbtide::plan
