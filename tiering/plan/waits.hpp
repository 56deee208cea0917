// Turns the edges between nodes into the waits of tasks, and leaves out those that others imply.
#pragma once

#include <cstdint>
#include <vector>

#include "ebbtide/plan.hpp"
#include "tiering/plan/adjacency.hpp"
#include "tiering/plan/lane_order.hpp"

namespace ebbtide::planning {

// Sets waits_begin and wait_count of every task of `plan`, whose lanes hold the order's tasks, and
// fills plan.waits. A wait stays only if no combination of lane order, width and the task's other
// waits implies it, so that taking any one out leaves some edge unguarded.
void make_waits(const Adjacency& predecessors, const LaneOrder& order, Plan& plan);

}  // namespace ebbtide::planning
