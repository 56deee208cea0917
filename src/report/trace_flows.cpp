#include "src/report/trace_flows.hpp"

#include <algorithm>
#include <optional>

namespace ebbtide::report {
namespace {

// Who put each value's bytes where they are now: in the host arena, on NVMe.
class Whereabouts {
 public:
  explicit Whereabouts(std::size_t values) : host_(values), nvme_(values) {}

  std::optional<TaskAt>& in(Tier tier, ValueId value) {
    return tier == Tier::kHost ? host_[value] : nvme_[value];
  }

 private:
  std::vector<std::optional<TaskAt>> host_;
  std::vector<std::optional<TaskAt>> nvme_;
};

// What the host writes is no longer what a transfer brought.
void forget_written(const Program& program, OpId op, Whereabouts& where) {
  if (program.operand_tier(op) != Tier::kHost) return;
  for (const Use& use : program.uses(op))
    if (use.writes()) where.in(Tier::kHost, use.value).reset();
}

void follow(std::span<const Segment> segments, TaskAt task, Whereabouts& where,
            std::vector<Flow>& flows) {
  const Route tiers = route(task.lane);
  const std::size_t first = flows.size();
  for (const Segment& segment : segments) {
    if (tiers.from != Tier::kDevice) {
      const std::optional<TaskAt> from = where.in(tiers.from, segment.value);
      const auto known = [&](const Flow& flow) { return flow.from == *from; };
      if (from &&
          std::none_of(flows.begin() + static_cast<std::ptrdiff_t>(first), flows.end(), known))
        flows.push_back({*from, task});
    }
    if (tiers.to != Tier::kDevice) where.in(tiers.to, segment.value) = task;
  }
}

}  // namespace

std::vector<Flow> flows(const Program& program, const Plan& plan, std::span<const TaskAt> order) {
  Whereabouts where(program.value_count());
  std::vector<Flow> flows;
  for (const TaskAt at : order) {
    const Task& task = plan.task(at);
    if (task.kind() == TaskKind::kOp) forget_written(program, task.first, where);
    if (task.kind() == TaskKind::kTransfer) follow(plan.segments_of(task), at, where, flows);
  }
  return flows;
}

}  // namespace ebbtide::report
