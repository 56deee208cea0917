// The smallest budgets that plan, from the program alone.
#include <algorithm>

#include "ebbtide/plan.hpp"

namespace ebbtide {
namespace {

// Last use of each value that may never leave the device; 0 where there is none.
std::vector<OpId> last_uses(const Program& program) {
  std::vector<OpId> last(program.value_count(), 0);
  for (OpId op = 0; op < program.op_count(); ++op)
    for (const Use& use : program.uses(op)) last[use.value] = op;
  return last;
}

std::uint64_t taken(const Program& program, ValueId value, Tier tier) {
  const Home* home = program.home(value);
  if (home != nullptr && home->tier == tier) return 0;  // counted with the homes
  return extent(program.value(value).size_bytes, tier);
}

// The largest sum of those operands of one op in `tier` that count.
template <typename Counts>
std::uint64_t largest_sum(const Program& program, Tier tier, Counts&& counts) {
  std::uint64_t largest = 0;
  for (OpId op = 0; op < program.op_count(); ++op) {
    if (program.operand_tier(op) != tier) continue;
    std::uint64_t sum = 0;
    for (const Use& use : program.uses(op))
      if (counts(program.value(use.value))) sum += taken(program, use.value, tier);
    largest = std::max(largest, sum);
  }
  return largest;
}

}  // namespace

std::uint64_t largest_operand_sum(const Program& program, Tier tier) {
  return largest_sum(program, tier, [](const Value&) { return true; });
}

std::uint64_t smallest_resident_limit(const Program& program, std::uint8_t limit) {
  return largest_sum(program, Tier::kDevice, [&](const Value& value) {
    return program.kind(value.kind).resident_limit == limit;
  });
}

std::uint64_t smallest_device_budget(const Program& program) {
  const std::vector<OpId> last = last_uses(program);
  std::vector<bool> held(program.value_count(), false);
  std::uint64_t held_bytes = 0;
  std::uint64_t largest = 0;
  for (OpId op = 0; op < program.op_count(); ++op) {
    if (program.operand_tier(op) != Tier::kDevice) continue;
    std::uint64_t sum = held_bytes;
    for (const Use& use : program.uses(op)) {
      const std::uint64_t bytes = taken(program, use.value, Tier::kDevice);
      if (!held[use.value]) sum += bytes;
    }
    largest = std::max(largest, sum);
    for (const Use& use : program.uses(op)) {
      if (program.value(use.value).reach != Reach::kDevice) continue;
      const std::uint64_t bytes = taken(program, use.value, Tier::kDevice);
      const bool holds = last[use.value] > op;
      if (holds && !held[use.value]) held_bytes += bytes;
      if (!holds && held[use.value]) held_bytes -= bytes;
      held[use.value] = holds;
    }
  }
  return program.home_bytes()[index(Tier::kDevice)] + largest;
}

std::uint64_t Plan::memory_bytes() const {
  std::uint64_t bytes = waits.capacity() * sizeof(Wait) + segments.capacity() * sizeof(Segment) +
                        operand_units.capacity() * sizeof(std::uint32_t);
  for (const auto& lane : tasks) bytes += lane.capacity() * sizeof(Task);
  return bytes;
}

}  // namespace ebbtide
