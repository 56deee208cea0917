// Follows a plan's content: what every byte range of every tier holds, in one order that the waits
// allow, checking at each access that the waits allow no other order that would matter.
#pragma once

#include "ebbtide/plan.hpp"
#include "tiering/plan/verify_clocks.hpp"

namespace ebbtide::verifying {

// Requires a plan that check_form() let pass and clocks without a stuck task.
// Throws Rejected(kWrongContent, kUnorderedRead, kUnorderedReuse, kEndState, or kMalformed for
// homes or operands that overlap and for a write into another program's home).
void check_content(const Program& program, const Plan& plan, const Clocks& clocks);

}  // namespace ebbtide::verifying
