// Which tasks need the bytes of a range between two times that it is overwritten, so that a test
// can spoil them the moment the last of these has finished.
//
// Found by replaying the plan in one order that its waits allow; where verify() accepts the plan,
// every other order has the same tenancies.
#pragma once

#include <cstdint>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"

namespace ebbtide::plan_test {

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct Tenancy {
  Tier tier = Tier::kDevice;
  Range range;
  std::uint32_t tasks = 0;   // that write or read it
  std::vector<Range> freed;  // once they have finished: all of it, or none of what must stay
};

struct Tenancies {
  std::vector<Tenancy> all;
  // By lane and task: the tenancies that it writes or reads, each once.
  PerLane<std::vector<std::vector<std::uint32_t>>> of;
};

// Values that end the step in their homes are kept there. Requires addresses and indices in range;
// throws ContractViolation for a plan whose lanes deadlock.
Tenancies find_tenancies(const Program& program, const Plan& plan);

}  // namespace ebbtide::plan_test
