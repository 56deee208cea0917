// What has to happen and what must come before what: the planner's working form of a plan, before
// lanes have an order.
//
// Nodes [0, op_count) are the program's ops; transfers and moves are appended. Edges between two
// ops of one lane are left out: their lane keeps them in order. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"

namespace ebbtide::planning {

using NodeId = std::uint32_t;
using StepId = std::uint32_t;
inline constexpr std::uint32_t kNone = ~0U;

// The lanes between a tier and the one below it. Requires a tier that has one.
constexpr Lane lane_up_to(Tier upper) {
  return upper == Tier::kDevice ? Lane::kH2d : Lane::kNvmeRead;
}
constexpr Lane lane_down_from(Tier upper) {
  return upper == Tier::kDevice ? Lane::kD2h : Lane::kNvmeWrite;
}

// A transfer of one value, or a move of several inside the device arena.
struct Transfer {
  Lane lane = Lane::kD2h;
  bool prepares = false;            // decided while the step at `position` got its places
  ValueId value = kNone;            // kNone: a move, of segments [first_move, first_move + moves)
  std::uint64_t upper_address = 0;  // in the tier nearer to the device
  std::uint64_t lower_address = 0;
  // In steps of the tier that made it: it belongs after all steps before this one.
  StepId position = 0;
  StepId needed_by = kNone;  // the step that reads what an upward transfer brings
  OpId not_before_op = 0;    // issue point: ops before this one are done
  std::uint32_t first_move = 0;
  std::uint32_t moves = 0;
};

struct Edge {
  NodeId before = 0;
  NodeId after = 0;
};

class Graph {
 public:
  explicit Graph(const Program& program) : program_(program) {}

  const Program& program() const { return program_; }
  NodeId op_count() const { return static_cast<NodeId>(program_.op_count()); }
  NodeId node_count() const { return op_count() + static_cast<NodeId>(transfers_.size()); }

  NodeId add(const Transfer& transfer) {
    transfers_.push_back(transfer);
    return node_count() - 1;
  }
  Transfer& transfer(NodeId node) { return transfers_[node - op_count()]; }
  const Transfer& transfer(NodeId node) const { return transfers_[node - op_count()]; }
  bool is_op(NodeId node) const { return node < op_count(); }

  Lane lane(NodeId node) const {
    if (!is_op(node)) return transfer(node).lane;
    return op_lane(program_.place(node));
  }
  // Whether the two share a lane that already keeps them in order.
  bool ordered_by_lane(NodeId a, NodeId b) const {
    const Lane lane_of_a = lane(a);
    return lane_of_a == lane(b) && !is_transfer(lane_of_a);
  }
  void add_edge(NodeId before, NodeId after) {
    if (before != after && !ordered_by_lane(before, after)) edges_.push_back({before, after});
  }
  const std::vector<Edge>& edges() const { return edges_; }
  std::vector<Segment>& moves() { return moves_; }
  const std::vector<Segment>& moves() const { return moves_; }

 private:
  const Program& program_;
  std::vector<Transfer> transfers_;
  std::vector<Edge> edges_;
  std::vector<Segment> moves_;
};

}  // namespace ebbtide::planning
