// What can be seen in a plan without following it: indices, lanes, widths, alignment, bounds, and
// that every op stands once in its lane, in program order.
#pragma once

#include "ebbtide/plan.hpp"

namespace ebbtide::verifying {

// Throws Rejected(kMalformed, kOverBudget, kOpOrder or kDeadlock). What it lets pass is safe to
// index with.
void check_form(const Program& program, const Plan& plan);

}  // namespace ebbtide::verifying
