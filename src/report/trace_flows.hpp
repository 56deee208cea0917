// The way of values down the tiers and back: from the task that put a value's bytes in a tier to
// the task that took them on from there.
#pragma once

#include <span>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"

namespace ebbtide::report {

struct Flow {
  TaskAt from;
  TaskAt to;
};

// From a store to the load that brings a value back, over NVMe in three steps: d2h -> nvme_write
// -> nvme_read -> h2d. Two tasks are joined once, whatever number of values they share. In the
// order of `to`. `order`: the plan's tasks as they began.
std::vector<Flow> flows(const Program& program, const Plan& plan, std::span<const TaskAt> order);

}  // namespace ebbtide::report
