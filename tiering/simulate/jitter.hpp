// By how much a task of a simulated step strays from the hardware model: a pure function of a seed
// and the task's place, so that a seed gives the same step every time and in every order of events.
#pragma once

#include "ebbtide/plan.hpp"
#include "ebbtide/timeline.hpp"

namespace ebbtide::simulation {

// Seconds at full speed times this: exp(spread * z), z standard normal.
double stretch(const Jitter& jitter, TaskAt at);

// Seconds above the median latency, exponentially distributed: `p99_s` of a hundredth of all tasks
// is exceeded.
double late_by(const Jitter& jitter, TaskAt at, double p99_s);

}  // namespace ebbtide::simulation
