// make_plan: residency tier by tier, then lanes, buckets and waits.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ebbtide/error.hpp"
#include "ebbtide/plan.hpp"
#include "tiering/plan/adjacency.hpp"
#include "tiering/plan/lane_order.hpp"
#include "tiering/plan/residency.hpp"
#include "tiering/plan/waits.hpp"

namespace ebbtide {
namespace {

using namespace planning;

constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 62;
constexpr std::uint64_t kLargestDeviceArena = std::uint64_t{kDeviceAlignment} << 32;

// Residency counts on links that are this much slower than they are said to be: a device that turns
// out faster than its model would otherwise wait for every load of a step that the link just hides.
constexpr double kLinkMargin = 0.1;

Rate with_margin(const Rate& rate) {
  return {rate.bytes_per_s * (1 - kLinkMargin), rate.latency_s};
}

// Two transfers one after the other, many at a time: the slower one's pace, both latencies.
Rate in_a_row(const Rate& a, const Rate& b) {
  return {std::min(a.bytes_per_s, b.bytes_per_s), a.latency_s + b.latency_s};
}

ResidencyRates device_rates(const HardwareModel& hardware, double prefetch_s) {
  return {.up = with_margin(hardware.h2d),
          .down = with_margin(hardware.d2h),
          .far_up = with_margin(in_a_row(hardware.nvme_read, hardware.h2d)),
          .far_down = with_margin(in_a_row(hardware.d2h, hardware.nvme_write)),
          .prefetch_seconds = prefetch_s,
          .move_s_per_byte = hardware.move_seconds(1)};
}

ResidencyRates host_rates(const HardwareModel& hardware, double prefetch_s) {
  return {.up = hardware.nvme_read,
          .down = hardware.nvme_write,
          .far_up = {},
          .far_down = {},
          .prefetch_seconds = prefetch_s};
}

double longest_load_s(const Program& program, const HardwareModel& hardware) {
  std::uint64_t largest = 0;
  for (ValueId value = 0; value < program.value_count(); ++value)
    if (program.value(value).reach != Reach::kDevice)
      largest = std::max(largest, program.value(value).size_bytes);
  return hardware.h2d.seconds(static_cast<double>(largest));
}

// The decisions for all tiers, as one graph.
class Decisions {
 public:
  Decisions(const Program& program, const Budgets& budgets, const HardwareModel& hardware,
            const PlanOptions& options)
      : graph_(program),
        op_start_s_(op_starts(program, hardware)),
        prefetch_(program, op_start_s_, options, longest_load_s(program, hardware)) {
    const double ahead_s = prefetch_.seconds();
    device_steps_ = device_steps(program, hardware, op_start_s_, prefetch_);
    device_.emplace(graph_, Tier::kDevice, device_steps_, budgets.device_bytes,
                    device_rates(hardware, ahead_s), options);
    device_->run();
    host_steps_ = lower_steps(graph_, Tier::kHost, device_steps_, op_start_s_, prefetch_);
    host_.emplace(graph_, Tier::kHost, host_steps_, budgets.host_bytes,
                  host_rates(hardware, ahead_s), options);
    host_->run();
    nvme_steps_ = lower_steps(graph_, Tier::kNvme, host_steps_, op_start_s_, prefetch_);
    nvme_.emplace(graph_, Tier::kNvme, nvme_steps_, budgets.nvme_bytes, ResidencyRates{}, options);
    nvme_->run();
    if (prefetch_.explicit_steps()) add_issue_points();
  }

  const Graph& graph() const { return graph_; }
  const Residency& tier(Tier tier) const {
    return tier == Tier::kDevice ? *device_ : tier == Tier::kHost ? *host_ : *nvme_;
  }

  // In units of kDeviceAlignment, for every use of the program.
  std::vector<std::uint32_t> operand_units() const {
    const Program& program = graph_.program();
    std::vector<std::uint32_t> units(program.use_count(), 0);
    const auto set = [&units](std::uint32_t use, std::uint64_t address) {
      if (address != Residency::kNoAddress)
        units[use] = static_cast<std::uint32_t>(address / kDeviceAlignment);
    };
    for (std::uint32_t use = 0; use < units.size(); ++use) set(use, device_->addresses()[use]);
    for (StepId step = 0; step < host_steps_.size(); ++step) {
      if (!graph_.is_op(host_steps_.node[step])) continue;
      const std::uint32_t first = program.op(host_steps_.node[step]).uses_begin;
      const std::uint32_t begin = host_steps_.use_begin[step];
      for (std::uint32_t i = begin; i < host_steps_.use_begin[step + 1]; ++i)
        set(first + i - begin, host_->addresses()[i]);
    }
    return units;
  }

 private:
  // A prefetch distance that was asked for in chunk-steps is kept by waits.
  void add_issue_points() {
    const Program& program = graph_.program();
    std::vector<NodeId> last_device_op(program.op_count() + 1, kNone);
    for (OpId op = 0; op < program.op_count(); ++op)
      last_device_op[op + 1] = program.place(op) == Place::kDevice ? op : last_device_op[op];
    for (NodeId node = graph_.op_count(); node < graph_.node_count(); ++node) {
      const Transfer& transfer = graph_.transfer(node);
      if (transfer.lane != Lane::kH2d && transfer.lane != Lane::kNvmeRead) continue;
      const NodeId before = last_device_op[transfer.not_before_op];
      if (before != kNone) graph_.add_edge(before, node);
    }
  }

  Graph graph_;
  std::vector<double> op_start_s_;
  PrefetchDistance prefetch_;
  TierSteps device_steps_;
  TierSteps host_steps_;
  TierSteps nvme_steps_;
  std::optional<Residency> device_;
  std::optional<Residency> host_;
  std::optional<Residency> nvme_;
};

Segment segment_of(const Transfer& transfer) {
  const Route ends = route(transfer.lane);
  const bool down = index(ends.from) < index(ends.to);
  return down ? Segment{transfer.upper_address, transfer.lower_address, transfer.value}
              : Segment{transfer.lower_address, transfer.upper_address, transfer.value};
}

void add_task(const Graph& graph, const LaneOrder& order, Lane lane, const LaneTask& task,
              Plan& plan) {
  Task made;
  const NodeId first = order.members[task.first];
  if (graph.is_op(first)) {
    made.first = first;
    made.kind_bits = static_cast<std::uint32_t>(TaskKind::kOp) & 15U;
  } else {
    made.first = static_cast<std::uint32_t>(plan.segments.size());
    const bool is_move = lane == Lane::kCompute;
    made.kind_bits =
        static_cast<std::uint32_t>(is_move ? TaskKind::kMove : TaskKind::kTransfer) & 15U;
    if (is_move) {
      const Transfer& move = graph.transfer(first);
      const auto begin = graph.moves().begin() + move.first_move;
      plan.segments.insert(plan.segments.end(), begin, begin + move.moves);
    } else {
      for (std::uint32_t i = 0; i < task.count; ++i)
        plan.segments.push_back(segment_of(graph.transfer(order.members[task.first + i])));
    }
    made.count = (static_cast<std::uint32_t>(plan.segments.size()) - made.first) & 0xfffffU;
    for (std::size_t i = made.first; i < plan.segments.size(); ++i)
      plan.moved_bytes[index(lane)] += graph.program().value(plan.segments[i].value).size_bytes;
  }
  plan.tasks[index(lane)].push_back(made);
}

Plan lay_out(const Decisions& decisions, const HardwareModel& hardware, const PlanOptions& options,
             const Budgets& budgets) {
  const Graph& graph = decisions.graph();
  Plan plan;
  plan.budgets = budgets;
  LaneOrder order;
  {
    const Adjacency successors(graph, Adjacency::Of::kSuccessors);
    order = order_lanes(graph, successors, hardware, options);
  }
  plan.width = order.width;
  plan.expected_seconds = order.seconds;
  plan.segments.reserve(graph.node_count() - graph.op_count());
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    plan.tasks[lane].reserve(order.tasks[lane].size());
    for (const LaneTask& task : order.tasks[lane])
      add_task(graph, order, static_cast<Lane>(lane), task, plan);
  }
  make_waits(Adjacency(graph, Adjacency::Of::kPredecessors), order, plan);
  plan.operand_units = decisions.operand_units();
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
    plan.peak_bytes[index(tier)] = decisions.tier(tier).peak_bytes();
    plan.span_bytes[index(tier)] = decisions.tier(tier).span_bytes();
  }
  return plan;
}

// What a tier would take if it were not limited, with the others as they are.
std::optional<std::uint64_t> bytes_if_unlimited(const Program& program, Budgets budgets, Tier tier,
                                                const HardwareModel& hardware,
                                                const PlanOptions& options) {
  (tier == Tier::kHost ? budgets.host_bytes : budgets.nvme_bytes) = kUnlimited;
  try {
    return Decisions(program, budgets, hardware, options).tier(tier).span_bytes();
  } catch (const OutOfRoom&) {
    return std::nullopt;
  }
}

[[noreturn]] void refuse(const Program& program, const Budgets& budgets,
                         const HardwareModel& hardware, const PlanOptions& options,
                         const OutOfRoom& out) {
  const std::uint64_t has = budgets.of(out.tier);
  std::string text = fmt::format("the step does not fit its {} memory of {} bytes (no room for {})",
                                 name(out.tier), has, program.describe(out.value));
  if (out.tier == Tier::kDevice) {
    text += fmt::format("; the smallest device budget that fits is {} bytes",
                        smallest_device_budget(program));
  } else {
    for (const Tier tier : {Tier::kHost, Tier::kNvme}) {
      const auto needed = bytes_if_unlimited(program, budgets, tier, hardware, options);
      if (needed) text += fmt::format("; it fits with {} bytes of {} memory", *needed, name(tier));
    }
  }
  throw Error(Errc::kDoesNotFit, text);
}

void check_homes(const Program& program, const Budgets& budgets) {
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
    const std::uint64_t needed = program.home_bytes()[index(tier)];
    if (needed > budgets.of(tier))
      throw Error(Errc::kDoesNotFit,
                  fmt::format("values that live across steps take {} bytes of {} memory, which has "
                              "{} bytes",
                              needed, name(tier), budgets.of(tier)));
  }
}

std::string category_of(const Program& program, std::uint8_t limit) {
  for (std::size_t i = 0; i < program.kind_count(); ++i) {
    const ValueKind& kind = program.kind(static_cast<KindId>(i));
    if (kind.resident_limit == limit) return kind.category;
  }
  return "values";
}

void check_limits(const Program& program, const PlanOptions& options) {
  for (std::size_t i = 0; i < options.resident_limit_bytes.size(); ++i) {
    const auto limit = static_cast<std::uint8_t>(i);
    const std::uint64_t needed = smallest_resident_limit(program, limit);
    if (needed > options.resident_limit_bytes[i])
      throw Error(Errc::kDoesNotFit,
                  fmt::format("one op needs {} bytes of {} on the device at once, their limit is "
                              "{}; the smallest that fits is {} bytes",
                              needed, category_of(program, limit), options.resident_limit_bytes[i],
                              needed));
  }
}

}  // namespace

Plan make_plan(const Program& program, const Budgets& budgets, const HardwareModel& hardware,
               const PlanOptions& options) {
  check_homes(program, budgets);
  check_limits(program, options);
  EBBTIDE_CHECK(budgets.device_bytes <= kLargestDeviceArena,
                fmt::format("a device arena of {} bytes", budgets.device_bytes));
  try {
    return lay_out(Decisions(program, budgets, hardware, options), hardware, options, budgets);
  } catch (const OutOfRoom& out) {
    refuse(program, budgets, hardware, options, out);
  }
}

}  // namespace ebbtide
