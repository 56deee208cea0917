// The memory bill: what fills each tier at its fullest moment, by category and kind, from plans
// alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ebbtide/hardware.hpp"
#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"
#include "ebbtide/types.hpp"

namespace ebbtide::report {

struct BillPart {
  std::string kind;  // ValueKind::name
  std::uint64_t bytes = 0;
};

// Whether a category's values live from step to step: parameters and what belongs to them, whose
// kinds are as many as a layer has tensors.
enum class Lifetime : std::uint8_t { kStep, kRun };

struct BillLine {
  std::string category;
  Lifetime lifetime = Lifetime::kStep;
  std::uint64_t bytes = 0;
  std::vector<BillPart> parts{};  // largest first; they add up to bytes, or there are none
};

// lines + held_bytes() = peak_bytes; peak_bytes + fragmentation_bytes() = reserved_bytes.
struct TierBill {
  std::uint64_t budget_bytes = 0;
  std::uint64_t reserved_bytes = 0;  // the arena, or the swap files: the longest span of any plan
  std::uint64_t peak_bytes = 0;      // the most that is taken at once
  std::vector<BillLine> lines;       // largest first

  std::uint64_t named_bytes() const;
  // Taken by the plan for transfers that have not begun by then, or have just ended.
  std::uint64_t held_bytes() const { return peak_bytes - named_bytes(); }
  // Between the highest address and the bytes that are taken.
  std::uint64_t fragmentation_bytes() const { return reserved_bytes - peak_bytes; }
};

struct MemoryBill {
  PerTier<TierBill> tiers;
  std::vector<BillLine> constant;  // what the process holds beside the tiers
  std::uint64_t smallest_device_bytes = 0;

  std::uint64_t constant_bytes() const;
  void add_constant(std::string what, std::uint64_t bytes);
};

// A program of the run with its plan.
struct Planned {
  std::string name;  // "forward and backward", "optimizer", ...
  const Program* program = nullptr;
  const Plan* plan = nullptr;
};

// Requires programs that share their homes. Leaves `constant` empty but for what the
// plans and the record of their run take.
MemoryBill memory_bill(std::span<const Planned> programs, const HardwareModel& hardware);

enum class BillDetail : std::uint8_t { kCategories, kKinds };

// Several lines, for people; ends with a newline. Kinds are those of categories that live for a
// step, and those that take little are summed.
std::string text(const MemoryBill& bill, BillDetail detail = BillDetail::kCategories);

}  // namespace ebbtide::report
