// Owner of one io_uring: set-up, registration of buffers and files, entries, waiting.
//
// Thread safety: made on any thread, then used by one.
//
// Invariants
//  1. At most depth() transfers and one wake-up read are prepared or in flight, so the submission
//     queue always has an entry and the completion queue never overflows.
//  2. What could not be registered is passed by address or descriptor instead.
#pragma once

#include <liburing.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tiering/tiers/io_faults.hpp"
#include "tiering/tiers/io_queue.hpp"

namespace ebbtide::tiers {

class UringRing {
 public:
  // Throws Error where io_uring is refused, with the errno and its likely cause. Adds to `warnings`
  // what was not as asked.
  UringRing(const SwapFiles& files, const IoQueueOptions& options,
            std::vector<std::string>& warnings);
  ~UringRing();
  UringRing(const UringRing&) = delete;
  UringRing& operator=(const UringRing&) = delete;

  std::uint32_t depth() const { return depth_; }

  // Each prepares one entry, whose completion will carry `tag`. False: no entry was free.
  bool prepare(const KernelTransfer& transfer, std::uint64_t tag);
  bool prepare_wake(int descriptor, std::uint64_t* value, std::uint64_t tag);
  bool prepare_delay(__kernel_timespec* delay, std::uint64_t tag);

  // Hands over what is prepared and sleeps until a completion is there. Returns the entries handed
  // over, in the order of their being prepared, or -errno.
  int submit_and_wait();
  // For a ring that the kernel no longer serves: sleeps until a completion is there or `descriptor`
  // (-1: none) can be read. Returns whether it can.
  bool wait_without_entering(int descriptor);
  // Calls handle(tag, result) for each completion that is there.
  template <typename Handle>
  void reap(Handle handle);

 private:
  void set_up(std::vector<std::string>& warnings);
  void check_kernel();
  void register_memory(std::span<std::byte> memory, std::vector<std::string>& warnings);
  void register_files(std::vector<std::string>& warnings);
  int buffer_index(const std::byte* memory) const;  // -1: not registered

  const SwapFiles& files_;
  std::uint32_t depth_;
  io_uring ring_{};
  std::span<std::byte> registered_;
  bool files_registered_ = false;
};

template <typename Handle>
void UringRing::reap(Handle handle) {
  io_uring_cqe* completion = nullptr;
  while (io_uring_peek_cqe(&ring_, &completion) == 0 && completion) {
    const std::uint64_t tag = completion->user_data;
    const std::int32_t result = completion->res;
    io_uring_cqe_seen(&ring_, completion);
    handle(tag, result);
  }
}

}  // namespace ebbtide::tiers
