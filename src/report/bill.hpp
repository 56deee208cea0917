// The memory bill: what fills each tier at its fullest moment, by category, from plans alone.
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

struct BillLine {
  std::string category;
  std::uint64_t bytes = 0;
};

struct TierBill {
  std::uint64_t budget_bytes = 0;
  std::uint64_t reserved_bytes = 0;  // the arena, or the swap files: the longest span of any plan
  std::uint64_t peak_bytes = 0;      // the highest byte in use at once
  std::vector<BillLine> lines;       // largest first; their sum is at most peak_bytes
};

struct MemoryBill {
  PerTier<TierBill> tiers;
  std::vector<BillLine> constant;  // what the process holds beside the tiers
  std::uint64_t smallest_device_bytes = 0;

  std::uint64_t constant_bytes() const;
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

// Several lines, for people; ends with a newline.
std::string text(const MemoryBill& bill);

}  // namespace ebbtide::report
