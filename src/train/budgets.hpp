// How many bytes of each tier a run may take: what it was given, or all there is less a margin.
#pragma once

#include <cstdint>
#include <string>

#include "ebbtide/plan.hpp"
#include "src/train/options.hpp"

namespace ebbtide::train {

// What 32-bit operand addresses in units of 256 bytes reach.
inline constexpr std::uint64_t kLargestDeviceBytes = std::uint64_t{1} << 40;
// More than any machine has of a tier, with room to add.
inline constexpr std::uint64_t kUnlimitedBytes = std::uint64_t{1} << 60;

// What the machine and its container leave to this process.
struct MachineLimits {
  std::uint64_t memory_bytes = 0;
  std::string memory_limited_by;  // "the machine", or a control group
  // Free below --nvme-path, all file systems together; nothing where one of them does not say.
  std::optional<std::uint64_t> disk_bytes = 0;
};

// Throws Error(kBadUsage) where an --nvme-path is no directory that can be written.
MachineLimits machine_limits(const MemoryOptions& options);

// Left to the rest of the process and of the machine where an arena's size is not given, bytes.
std::uint64_t memory_margin(std::uint64_t memory_bytes);

// On the cpu device both arenas are host memory: together they must fit what is there. Of the two,
// one that is given leaves the rest to the other; none given, each has half. NVMe has what its
// directories have free, less a twentieth; it has to be given where they do not say. Throws
// Error(kDoesNotFit) naming flag, need and have.
Budgets resolve_budgets(const MemoryOptions& options, const MachineLimits& limits);

}  // namespace ebbtide::train
