// A Plan says where every value is at every moment of a step and who moves it when: per lane, an
// ordered list of tasks, each waiting on what other lanes have finished.
//
// Immutable once made, shareable. Made by make_plan(), proved by verify(), walked by an Engine or
// by simulate().
//
// Invariants (verify() proves them)
//  1. Every read sees the version that program order gives it.
//  2. A task that overwrites bytes of a tier starts after every task that touched the old ones.
//  3. No tier ever holds bytes past its budget.
//  4. The lanes cannot deadlock.
//  5. Values with a home end the step there, as they began.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ebbtide/hardware.hpp"
#include "ebbtide/program.hpp"
#include "ebbtide/types.hpp"

namespace ebbtide {

// "Lane has finished its first `count` tasks."
struct Wait {
  std::uint32_t lane : 3;
  std::uint32_t count : 29;
};
static_assert(sizeof(Wait) == 4);

// One value's bytes on their way; addresses are offsets in the tiers that the lane joins.
struct Segment {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  ValueId value = 0;
};

enum class TaskKind : std::uint8_t {
  kOp,        // first = OpId; on kCompute, kHostCompute or kComm
  kMove,      // segments [first, first + count) inside the device arena, one after the other, each
              // with memmove's meaning; on kCompute
  kTransfer,  // segments [first, first + count); on a transfer lane
};

struct Task {
  std::uint32_t first = 0;
  std::uint32_t waits_begin = 0;
  std::uint32_t count : 20 = 0;
  std::uint32_t wait_count : 8 = 0;
  std::uint32_t kind_bits : 4 = 0;

  TaskKind kind() const { return static_cast<TaskKind>(kind_bits); }
};

// A task by its place in a plan.
struct TaskAt {
  Lane lane = Lane::kCompute;
  std::uint32_t index = 0;  // in Plan::tasks of the lane

  bool operator==(const TaskAt&) const = default;
};

struct Budgets {
  std::uint64_t device_bytes = 0;
  std::uint64_t host_bytes = 0;
  std::uint64_t nvme_bytes = 0;

  std::uint64_t of(Tier tier) const {
    return tier == Tier::kDevice ? device_bytes : tier == Tier::kHost ? host_bytes : nvme_bytes;
  }
  bool operator==(const Budgets&) const = default;
};

struct PlanOptions {
  // How far ahead of its use a load may be issued; both given: the one in chunk-steps counts.
  std::optional<std::uint32_t> prefetch_chunk_steps;
  double prefetch_seconds = 0.02;
  // Transfers are joined up to this; 0: every value travels alone. Unless given, until the latency
  // of the lane no longer counts: what waits for one of the values waits for all.
  std::optional<std::uint64_t> bucket_bytes;
  // Tasks of an NVMe lane that may be in flight at once; other lanes have width 1.
  std::uint32_t nvme_width = 8;
  // Device bytes that kinds with ValueKind::resident_limit == i may hold together, homes left out.
  std::vector<std::uint64_t> resident_limit_bytes;
};

struct Plan {
  PerLane<std::vector<Task>> tasks;
  PerLane<std::uint32_t> width{};  // tasks of a lane at most in flight
  std::vector<Wait> waits;
  std::vector<Segment> segments;
  // Address of use u of the program (Op::uses_begin + i) in the arena where its op runs, in units
  // of kDeviceAlignment.
  std::vector<std::uint32_t> operand_units;
  Budgets budgets;
  // The highest byte in use at once, by tier; the bytes that ever travel, by lane.
  PerTier<std::uint64_t> peak_bytes{};
  PerLane<std::uint64_t> moved_bytes{};
  // Length of each arena and of the swap space that this plan touches (peak address).
  PerTier<std::uint64_t> span_bytes{};
  // Seconds that the planner expects the step to take.
  double expected_seconds = 0;

  const Task& task(TaskAt at) const { return tasks[index(at.lane)][at.index]; }
  std::span<const Wait> waits_of(const Task& task) const {
    return {waits.data() + task.waits_begin, task.wait_count};
  }
  std::span<const Segment> segments_of(const Task& task) const {
    return {segments.data() + task.first, task.count};
  }
  std::uint64_t operand_address(std::uint32_t use) const {
    return std::uint64_t{operand_units[use]} * kDeviceAlignment;
  }
  std::uint64_t memory_bytes() const;
};

// Makes a plan; the same arguments give the same plan, byte for byte.
// Throws Error(kDoesNotFit) naming the tier, what is needed, what there is and the smallest budget
// that fits.
Plan make_plan(const Program& program, const Budgets& budgets, const HardwareModel& hardware,
               const PlanOptions& options);

// The largest sum of operands of one op in `tier`, above the homes there: no budget below it plans.
// Requires a tier in which ops run.
std::uint64_t largest_operand_sum(const Program& program, Tier tier);

// The smallest device budget that plans, homes included.
std::uint64_t smallest_device_budget(const Program& program);

// The smallest resident_limit_bytes[limit] that plans: what one op needs together.
std::uint64_t smallest_resident_limit(const Program& program, std::uint8_t limit);

// A hash of everything that a plan makes a device do: equal plans have equal ones.
std::uint64_t fingerprint(const Plan& plan);

// What verify() found wrong, with a name.
enum class PlanFault : std::uint8_t {
  kNone,
  kMalformed,       // an index or size out of range, a lane that cannot do the task
  kDeadlock,        // a wait that can never be met
  kWrongContent,    // a read of an address that holds another value or version
  kUnorderedRead,   // a read not ordered after the write that it needs
  kUnorderedReuse,  // an overwrite not ordered after an access to the old tenant
  kOverBudget,
  kOpOrder,   // the program's order is not kept, or an op is missing or doubled
  kEndState,  // a value with a home does not end where it began
};
std::string_view name(PlanFault fault);

struct Verdict {
  PlanFault fault = PlanFault::kNone;
  std::string message;  // which task, lane, value and address
  bool ok() const { return fault == PlanFault::kNone; }
};

// Proves the plan by vector clocks over its waits. Pure; memory is freed on return.
Verdict verify(const Program& program, const Plan& plan);

}  // namespace ebbtide
