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

}  // namespace ebbtide::verifying
