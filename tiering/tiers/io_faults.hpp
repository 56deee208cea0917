// A seam for tests: sees, and may spoil, each single transfer just before the kernel gets it.
#pragma once

#include <algorithm>
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
  int error = 0;                                // errno to report; nothing is moved
  std::optional<std::uint64_t> report_bytes{};  // move and report no more than this
};

// Called on threads of the queue, several at a time.
class IoFaults {
 public:
  virtual ~IoFaults() = default;
  virtual IoFault on_transfer(const KernelTransfer& transfer) = 0;
};

// The transfer that moves no more than a fault lets be reported, rounded up to what the file takes.
inline KernelTransfer shorten(KernelTransfer transfer, const IoFault& fault,
                              std::uint32_t alignment_bytes) {
  if (fault.report_bytes) {
    const std::uint64_t most =
        (*fault.report_bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
    transfer.size_bytes = std::min(transfer.size_bytes, most);
  }
  return transfer;
}

// What is told of the kernel's answer to it.
inline std::int64_t reported(std::int64_t answer, const IoFault& fault) {
  if (!fault.report_bytes) return answer;
  return std::min(answer, static_cast<std::int64_t>(*fault.report_bytes));
}

}  // namespace ebbtide::tiers
