// How the verifier says what is wrong: a fault thrown inside verify() and caught by it, and the
// words for tasks, operands and addresses that its messages share.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "ebbtide/plan.hpp"
#include "tiering/plan/verify_clocks.hpp"

namespace ebbtide::verifying {

struct Rejected {
  Verdict verdict;
};

template <typename... Args>
[[noreturn]] void reject(PlanFault fault, fmt::format_string<Args...> text, Args&&... args) {
  throw Rejected{{fault, fmt::format(text, std::forward<Args>(args)...)}};
}

// "compute task 17 (op 15, rmsnorm)", "d2h task 3"
std::string describe(const Program& program, const Plan& plan, TaskAt task);
// "a, the finish of ..." of a task by its finish: "h2d task 4", or "nothing" for count 0.
std::string describe(const Program& program, const Plan& plan, Wait finish);
// "attention output (3, 17)", or what stands for no value
std::string describe(const Program& program, ValueId value);

constexpr bool is_transfer(Lane lane) {
  return lane == Lane::kD2h || lane == Lane::kH2d || lane == Lane::kNvmeWrite ||
         lane == Lane::kNvmeRead;
}
// Where the tasks of a lane read and write. Requires a lane that moves or computes.
constexpr Tier source_tier(Lane lane) {
  switch (lane) {
    case Lane::kNvmeRead:
      return Tier::kNvme;
    case Lane::kH2d:
    case Lane::kNvmeWrite:
    case Lane::kHostCompute:
      return Tier::kHost;
    default:
      return Tier::kDevice;
  }
}
constexpr Tier target_tier(Lane lane) {
  switch (lane) {
    case Lane::kNvmeWrite:
      return Tier::kNvme;
    case Lane::kD2h:
    case Lane::kNvmeRead:
    case Lane::kHostCompute:
      return Tier::kHost;
    default:
      return Tier::kDevice;
  }
}

}  // namespace ebbtide::verifying
