// Writes plans by hand, task by task; each call gives the wait that comes after the task.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "ebbtide/plan.hpp"

namespace ebbtide::plan_test {

class PlanBuilder {
 public:
  // A plan that spans what its tasks touch. The program may grow between tasks.
  explicit PlanBuilder(const Program& program) : program_(program) { plan_.width.fill(1); }
  // A plan that spans its budgets, whatever its tasks touch.
  PlanBuilder(const Program& program, const Budgets& budgets)
      : program_(program), spans_(Spans::kBudgets) {
    plan_.budgets = budgets;
    plan_.span_bytes = {budgets.device_bytes, budgets.host_bytes, budgets.nvme_bytes};
    plan_.width.fill(1);
    plan_.operand_units.resize(program.use_count());
  }

  void set_operand(std::uint32_t use, std::uint64_t address) {
    plan_.operand_units[use] = static_cast<std::uint32_t>(address / kDeviceAlignment);
  }
  void set_width(Lane lane, std::uint32_t width) { plan_.width[index(lane)] = width; }

  // Addresses of the op's operands, in use order.
  Wait op(OpId op, std::initializer_list<std::uint64_t> addresses,
          std::initializer_list<Wait> waits = {}) {
    return this->op(op_lane(program_.place(op)), op, addresses, waits);
  }
  Wait op(Lane lane, OpId op, std::initializer_list<std::uint64_t> addresses,
          std::initializer_list<Wait> waits = {}) {
    plan_.operand_units.resize(program_.use_count());
    std::uint32_t use = program_.op(op).uses_begin;
    for (const std::uint64_t address : addresses) {
      const Use& of = program_.uses(op)[use - program_.op(op).uses_begin];
      touch(program_.operand_tier(op), address, of.value);
      set_operand(use++, address);
    }
    return append(lane, TaskKind::kOp, op, 0, waits);
  }
  Wait move(std::initializer_list<Segment> segments, std::initializer_list<Wait> waits = {}) {
    return segmented(Lane::kCompute, TaskKind::kMove, segments, waits);
  }
  Wait transfer(Lane lane, std::initializer_list<Segment> segments,
                std::initializer_list<Wait> waits = {}) {
    return segmented(lane, TaskKind::kTransfer, segments, waits);
  }
  const Plan& plan() const { return plan_; }

 private:
  enum class Spans : std::uint8_t { kTouched, kBudgets };

  void touch(Tier tier, std::uint64_t address, ValueId value) {
    if (spans_ == Spans::kBudgets) return;
    std::uint64_t& end = plan_.span_bytes[index(tier)];
    end = std::max(end, address + extent(program_.value(value).size_bytes, tier));
  }
  Wait segmented(Lane lane, TaskKind kind, std::initializer_list<Segment> segments,
                 std::initializer_list<Wait> waits) {
    const auto first = static_cast<std::uint32_t>(plan_.segments.size());
    for (const Segment& segment : segments) {
      plan_.segments.push_back(segment);
      touch(route(lane).from, segment.from, segment.value);
      touch(route(lane).to, segment.to, segment.value);
    }
    return append(lane, kind, first, static_cast<std::uint32_t>(segments.size()), waits);
  }
  Wait append(Lane lane, TaskKind kind, std::uint32_t first, std::uint32_t count,
              std::initializer_list<Wait> waits) {
    Task task;
    task.first = first;
    task.count = count & 0xfffffU;
    task.kind_bits = static_cast<std::uint32_t>(kind) & 0xfU;
    task.waits_begin = static_cast<std::uint32_t>(plan_.waits.size());
    task.wait_count = static_cast<std::uint32_t>(waits.size()) & 0xffU;
    plan_.waits.insert(plan_.waits.end(), waits);
    plan_.tasks[index(lane)].push_back(task);
    return {static_cast<std::uint32_t>(lane) & 7U,
            static_cast<std::uint32_t>(plan_.tasks[index(lane)].size()) & 0x1fffffffU};
  }

  const Program& program_;
  const Spans spans_ = Spans::kTouched;
  Plan plan_;
};

// The task that has wait i of the plan; lane kLaneCount if there is none.
struct Waiter {
  std::size_t lane = kLaneCount;
  std::size_t task = 0;
};
inline Waiter waiter(const Plan& plan, std::size_t i) {
  for (std::size_t lane = 0; lane < kLaneCount; ++lane)
    for (std::size_t at = 0; at < plan.tasks[lane].size(); ++at) {
      const Task& task = plan.tasks[lane][at];
      if (i >= task.waits_begin && i < task.waits_begin + task.wait_count) return {lane, at};
    }
  return {};
}

inline std::string describe_wait(const Plan& plan, std::size_t i) {
  const Waiter by = waiter(plan, i);
  if (by.lane == kLaneCount) return "a wait of no task";
  const Wait wait = plan.waits[i];
  return std::string(name(static_cast<Lane>(by.lane))) + " task " + std::to_string(by.task) +
         " of kind " + std::to_string(plan.tasks[by.lane][by.task].kind_bits) + " waits for " +
         std::to_string(wait.count) + " of " +
         std::string(name(static_cast<Lane>(std::uint32_t{wait.lane})));
}

// Takes wait i of the plan out.
inline Plan without_wait(Plan plan, std::size_t i) {
  const Waiter by = waiter(plan, i);
  if (by.lane == kLaneCount) return plan;
  Task& task = plan.tasks[by.lane][by.task];
  for (std::size_t at = i; at + 1 < task.waits_begin + task.wait_count; ++at)
    plan.waits[at] = plan.waits[at + 1];
  --task.wait_count;
  return plan;
}

}  // namespace ebbtide::plan_test
