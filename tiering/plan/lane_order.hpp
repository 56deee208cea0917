// Orders the graph's nodes in lanes by walking it in virtual time, and joins transfers into
// buckets.
//
// A lane takes, of the transfers whose predecessors are done, the one that is needed first; further
// ones that are ready at that moment join it up to the bucket size. Since all members are ready
// when their task starts, joining can make no cycle. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ebbtide/hardware.hpp"
#include "tiering/plan/adjacency.hpp"
#include "tiering/plan/graph.hpp"

namespace ebbtide::planning {

struct LaneTask {
  std::uint32_t first = 0;  // members [first, first + count) of LaneOrder::members
  std::uint32_t count = 0;
};

struct LaneOrder {
  std::vector<NodeId> members;
  PerLane<std::vector<LaneTask>> tasks;
  PerLane<std::uint32_t> width{};
  std::vector<TaskAt> started;   // every task, in the order of their starts
  std::vector<TaskAt> place_of;  // by node
  double seconds = 0;            // of the walk
};

LaneOrder order_lanes(const Graph& graph, const Adjacency& successors,
                      const HardwareModel& hardware, const PlanOptions& options);

}  // namespace ebbtide::planning
