// One block on its way: what is left of it, and what a kernel's answer means for it.
#pragma once

#include <cstdint>

#include "tiering/tiers/io_faults.hpp"

namespace ebbtide::tiers {

struct Job;

struct Transfer {
  Job* job = nullptr;
  KernelTransfer whole;
  std::uint64_t done_bytes = 0;
  int fruitless_attempts = 0;  // in a row, that moved nothing that counts

  KernelTransfer rest() const;  // what the kernel is asked for next
};

enum class Next : std::uint8_t { kDone, kAgain, kFailed };

struct Outcome {
  Next next = Next::kDone;
  int error = 0;            // errno of kFailed
  const char* detail = "";  // why it was given up
};

// Takes the kernel's answer to rest(): bytes moved, or -errno. A short count is kept down to a
// multiple of `alignment_bytes`, so that what is asked for next stays aligned. EINTR, EAGAIN and
// counts below the alignment are tried again, but not for ever; 0 bytes never are.
Outcome advance(Transfer& transfer, std::int64_t answer, std::uint32_t alignment_bytes);

}  // namespace ebbtide::tiers
