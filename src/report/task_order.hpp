// The tasks of a plan in the order in which they began, measured or simulated.
#pragma once

#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/timeline.hpp"

namespace ebbtide::report {

// All tasks by start; the end breaks ties, so that a task of no length comes first.
std::vector<TaskAt> by_start(const Plan& plan, const Timeline& timeline);

}  // namespace ebbtide::report
