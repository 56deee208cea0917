// The machine that a plan is made for, as one rank of the run sees it: rates, budgets, and what of
// its memory is left free. Budgets are not limited by what the machine at hand has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ebbtide/hardware.hpp"
#include "ebbtide/plan.hpp"
#include "src/hardware/machine.hpp"
#include "src/train/options.hpp"

namespace ebbtide::plan {

// Left free on a card for CUDA's context and kernels, cuBLAS' workspace and what the driver rounds
// up; an estimate: the context alone takes some hundred MiB.
inline constexpr std::uint64_t kCardMarginBytes = std::uint64_t{1} << 30;

// How a budget came about.
enum class BudgetSource : std::uint8_t { kGiven, kMachine };

// What MFU is a fraction of: the peak, or what products reach where nothing else is known.
enum class FlopRate : std::uint8_t { kPeak, kSustained };

struct Target {
  std::string name;
  HardwareModel rates;
  Budgets budgets;    // of one rank
  Budgets available;  // of one rank, before margins; as budgets where these were given
  PerTier<BudgetSource> sources{};
  std::uint64_t ranks = 1;
  std::uint64_t ranks_on_node = 1;
  double flops_per_s = 0;  // of one device in the run's dtype
  FlopRate flops = FlopRate::kPeak;
};

// Sizes that options give are of a card (device) or of a node (host and NVMe), which its ranks
// share; others are what the machine has, less a margin. Throws as hardware::hardware_of.
Target target_of(const hardware::Machine& machine, const train::TrainOptions& options,
                 std::uint64_t ranks);

// The machine at hand, at the speeds of a generic CPU. Blocks: asks the system what it has. Throws
// Error(kBadUsage) where an --nvme-path cannot be used.
Target this_machine(const train::TrainOptions& options);

// A line a tier: how large its budget is and why. For people.
std::string text(const Target& target);

}  // namespace ebbtide::plan
