// Which task is the last that needs a range of an arena: where a test build fills it with 0xFF.
//
// A plan does not list what it frees, so this replays it in an order that its waits allow. A range
// of an arena (above the homes) has a tenant from the task that first writes a value there until
// another value is written over any of it, or the step ends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"
#include "ebbtide/types.hpp"

namespace ebbtide::execute {

enum class Moment : std::uint8_t { kBefore, kAfter };  // the task runs

struct Fill {
  std::uint32_t task = 0;  // of the lane's list
  Moment moment = Moment::kAfter;
  Tier tier = Tier::kDevice;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
};

struct Releases {
  PerLane<std::vector<Fill>> fills;  // by (task, moment)
  std::vector<Fill> at_end;          // when every lane rests; `task` and `moment` mean nothing

  std::span<const Fill> of(Lane lane, std::uint32_t task, Moment moment) const;
};

// A tenant's range is filled after its last toucher where the waits order all others before that
// one. Else the part that the next tenant takes is filled before its first task, and what nobody
// takes at the end of the step. Requires a plan that verify() accepts.
Releases find_releases(const Program& program, const Plan& plan);

}  // namespace ebbtide::execute
