// What happens to one tier, in order: the input of Residency.
//
// For the device the steps are the program's ops. What Residency decides there (loads and stores)
// becomes, with the host's ops, the steps of the host arena, and what it decides there becomes the
// steps of the swap files.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tiering/plan/graph.hpp"

namespace ebbtide::planning {

struct TierSteps {
  std::vector<NodeId> node;              // who acts at step i
  std::vector<std::uint32_t> use_begin;  // size() + 1 entries
  std::vector<Use> uses;
  std::vector<OpId> op;          // ops [0, op[i]) come before step i; what step i belongs after
  std::vector<double> start_s;   // by op_start of op[i]
  std::vector<double> end_s;     // of a collective, beside which others go on; 0 for others
  std::vector<OpId> issue_op;    // ops before this one are done when its loads begin
  std::vector<StepId> pin_from;  // steps [pin_from[i], i) may still run when step i's loads begin
  std::vector<std::uint8_t> below;  // 1: the step acts in the next tier down

  std::size_t size() const { return node.size(); }
  std::span<const Use> uses_of(StepId step) const {
    return {uses.data() + use_begin[step], use_begin[step + 1] - use_begin[step]};
  }
};

// Start of each op, seconds, if nothing ever had to wait; one more entry for the end.
std::vector<double> op_starts(const Program& program, const HardwareModel& hardware);

// How far ahead loads are issued, either in chunk-steps or in seconds.
class PrefetchDistance {
 public:
  PrefetchDistance(const Program& program, const std::vector<double>& op_start_s,
                   const PlanOptions& options, double longest_load_s);
  // First op that may still run when a load for `op` is issued, `hops` transfers away.
  OpId issue_op(OpId op, std::uint32_t hops) const;
  double seconds() const { return seconds_; }
  bool explicit_steps() const { return chunk_steps_.has_value(); }

 private:
  std::span<const OpId> step_begin_;
  const std::vector<double>& op_start_s_;
  std::optional<std::uint32_t> chunk_steps_;
  double seconds_;
};

TierSteps device_steps(const Program& program, const HardwareModel& hardware,
                       const std::vector<double>& op_start_s, const PrefetchDistance& prefetch);
// Steps of `tier` (host or NVMe): the transfers that `graph` holds between it and the tier above,
// merged with the host's ops where tier is the host arena. `upper` are the steps above.
TierSteps lower_steps(const Graph& graph, Tier tier, const TierSteps& upper,
                      const std::vector<double>& op_start_s, const PrefetchDistance& prefetch);

}  // namespace ebbtide::planning
