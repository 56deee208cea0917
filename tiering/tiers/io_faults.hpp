// A seam for tests: sees, and may spoil, each single transfer just before the kernel gets it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace ebbtide::tiers {

enum class IoDirection : std::uint8_t { kRead, kWrite };

// One read or write of one file, as the kernel is asked for it.
struct KernelTransfer {
  IoDirection direction = IoDirection::kRead;
  std::size_t file = 0;
  std::uint64_t offset = 0;  // in the file, bytes
  std::byte* memory = nullptr;
  std::uint64_t size_bytes = 0;
};

// What happens instead of the transfer succeeding at once; all empty: nothing.
struct IoFault {
  std::chrono::microseconds delay{0};
  int error = 0;                              // errno to report; nothing is moved
  std::optional<std::uint64_t> report_bytes;  // move and report no more than this
};

// Called on threads of the queue, several at a time.
class IoFaults {
 public:
  virtual ~IoFaults() = default;
  virtual IoFault on_transfer(const KernelTransfer& transfer) = 0;
};

}  // namespace ebbtide::tiers
