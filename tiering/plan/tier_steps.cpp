#include "tiering/plan/tier_steps.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace ebbtide::planning {
namespace {

// A load that waits behind as many others of its size as an op has operands is still in time.
constexpr double kLoadsAhead = 4;

}  // namespace

std::vector<double> op_starts(const Program& program, const HardwareModel& hardware) {
  std::vector<double> starts(program.op_count() + 1, 0.0);
  // Ops on the host, and collectives, run beside the device's.
  PerLane<double> lane_s{};
  for (OpId op = 0; op < program.op_count(); ++op) {
    double& end_s = lane_s[index(op_lane(program.place(op)))];
    starts[op] = std::max(op > 0 ? starts[op - 1] : 0.0, end_s);
    end_s += hardware.op_seconds(program, op);
  }
  starts.back() = *std::max_element(lane_s.begin(), lane_s.end());
  return starts;
}

PrefetchDistance::PrefetchDistance(const Program& program, const std::vector<double>& op_start_s,
                                   const PlanOptions& options, double longest_load_s)
    : step_begin_(program.chunk_steps()),
      op_start_s_(op_start_s),
      chunk_steps_(options.prefetch_chunk_steps),
      seconds_(std::max(options.prefetch_seconds, kLoadsAhead * longest_load_s)) {}

OpId PrefetchDistance::issue_op(OpId op, std::uint32_t hops) const {
  if (chunk_steps_) {
    const std::uint64_t back = std::uint64_t{*chunk_steps_} * hops;
    if (back == 0) return op;
    const auto after = std::upper_bound(step_begin_.begin(), step_begin_.end(), op);
    const auto current = static_cast<std::uint64_t>(after - step_begin_.begin());
    return current <= back ? 0 : step_begin_[current - 1 - back];
  }
  const double issue_s = op_start_s_[op] - seconds_ * hops;
  const auto end = op_start_s_.begin() + op;
  return static_cast<OpId>(std::lower_bound(op_start_s_.begin(), end, issue_s) -
                           op_start_s_.begin());
}

TierSteps device_steps(const Program& program, const HardwareModel& hardware,
                       const std::vector<double>& op_start_s, const PrefetchDistance& prefetch) {
  TierSteps steps;
  const std::size_t count = program.op_count();
  steps.node.resize(count);
  steps.use_begin.reserve(count + 1);
  steps.use_begin.push_back(0);
  steps.uses.reserve(program.use_count());
  for (OpId op = 0; op < count; ++op) {
    steps.node[op] = op;
    const auto uses = program.uses(op);
    steps.uses.insert(steps.uses.end(), uses.begin(), uses.end());
    steps.use_begin.push_back(static_cast<std::uint32_t>(steps.uses.size()));
    steps.op.push_back(op);
    steps.start_s.push_back(op_start_s[op]);
    const bool comm = program.place(op) == Place::kComm;
    steps.end_s.push_back(comm ? op_start_s[op] + hardware.op_seconds(program, op) : 0);
    steps.pin_from.push_back(prefetch.issue_op(op, 1));
    steps.issue_op.push_back(steps.pin_from.back());
    steps.below.push_back(program.operand_tier(op) != Tier::kDevice);
  }
  return steps;
}

namespace {

// Where a node belongs among the steps above, and in what order at one place: what frees the tier
// above (stores) first, then what was decided for the step itself, then ops, then loads for later.
struct Placed {
  StepId position = 0;
  std::uint8_t rank = 0;
  NodeId node = 0;
};

std::vector<Placed> merged(const Graph& graph, Tier tier, const TierSteps& upper) {
  const Tier above = tier == Tier::kHost ? Tier::kDevice : Tier::kHost;
  const Lane down = lane_down_from(above);
  const Lane up = lane_up_to(above);
  std::vector<Placed> placed;
  if (tier == Tier::kHost) {
    for (StepId step = 0; step < upper.size(); ++step)
      if (upper.below[step]) placed.push_back({step, 2, upper.node[step]});
  }
  for (NodeId node = graph.op_count(); node < graph.node_count(); ++node) {
    const Transfer& transfer = graph.transfer(node);
    if (transfer.lane != down && transfer.lane != up) continue;
    const std::uint8_t rank = transfer.prepares ? 1 : transfer.lane == down ? 0 : 3;
    placed.push_back({transfer.position, rank, node});
  }
  // Loads issued at one place come in the order in which they are needed.
  const auto key = [&graph](const Placed& p) {
    return p.rank == 3 ? graph.transfer(p.node).needed_by : 0;
  };
  std::stable_sort(placed.begin(), placed.end(), [&key](const Placed& a, const Placed& b) {
    if (a.position != b.position) return a.position < b.position;
    if (a.rank != b.rank) return a.rank < b.rank;
    return key(a) < key(b);
  });
  return placed;
}

}  // namespace

TierSteps lower_steps(const Graph& graph, Tier tier, const TierSteps& upper,
                      const std::vector<double>& op_start_s, const PrefetchDistance& prefetch) {
  TierSteps steps;
  steps.use_begin.push_back(0);
  const auto op_at = [&upper, &op_start_s](StepId position) {
    return position < upper.size() ? upper.op[position] : static_cast<OpId>(op_start_s.size() - 1);
  };
  const Tier above = tier == Tier::kHost ? Tier::kDevice : Tier::kHost;
  for (const Placed& placed : merged(graph, tier, upper)) {
    steps.node.push_back(placed.node);
    if (graph.is_op(placed.node)) {
      const auto uses = graph.program().uses(placed.node);
      steps.uses.insert(steps.uses.end(), uses.begin(), uses.end());
    } else {
      const Transfer& transfer = graph.transfer(placed.node);
      const bool comes_down = transfer.lane == lane_down_from(above);
      steps.uses.push_back(comes_down ? write(transfer.value) : read(transfer.value));
    }
    steps.use_begin.push_back(static_cast<std::uint32_t>(steps.uses.size()));
    steps.op.push_back(op_at(placed.position));
    steps.start_s.push_back(op_start_s[steps.op.back()]);
    steps.end_s.push_back(0);
    steps.below.push_back(0);
  }
  for (StepId step = 0; step < steps.size(); ++step) {
    const OpId issue = prefetch.issue_op(steps.op[step], 1);
    steps.issue_op.push_back(issue);
    const auto end = steps.op.begin() + step;
    steps.pin_from.push_back(
        static_cast<StepId>(std::lower_bound(steps.op.begin(), end, issue) - steps.op.begin()));
  }
  return steps;
}

}  // namespace ebbtide::planning
