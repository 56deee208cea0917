// The neighbours of each node of a graph, packed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tiering/plan/graph.hpp"

namespace ebbtide::planning {

class Adjacency {
 public:
  enum class Of : std::uint8_t { kPredecessors, kSuccessors };
  Adjacency(const Graph& graph, Of of);

  std::span<const NodeId> operator[](NodeId node) const {
    return {neighbours_.data() + begin_[node], begin_[node + 1] - begin_[node]};
  }

 private:
  std::vector<std::uint32_t> begin_;
  std::vector<NodeId> neighbours_;
};

inline Adjacency::Adjacency(const Graph& graph, Of of)
    : begin_(graph.node_count() + 1, 0), neighbours_(graph.edges().size()) {
  const bool successors = of == Of::kSuccessors;
  for (const Edge& edge : graph.edges()) ++begin_[(successors ? edge.before : edge.after) + 1];
  for (NodeId node = 0; node < graph.node_count(); ++node) begin_[node + 1] += begin_[node];
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (const Edge& edge : graph.edges())
    neighbours_[next[successors ? edge.before : edge.after]++] =
        successors ? edge.after : edge.before;
}

}  // namespace ebbtide::planning
