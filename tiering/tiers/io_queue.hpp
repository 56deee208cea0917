// A queue of reads and writes between the host arena and the swap files.
//
// One queue serves one lane. submit() is called from that lane's thread; completions are told on a
// thread of the queue's own, which alone touches the ring.
//
// Invariants
//  1. The memory of a job stays alive and untouched until its completion is told.
//  2. A short transfer is resumed; a job completes once, in full or with its first error.
//  3. The destructor drains: no transfer is in flight once it returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "ebbtide/types.hpp"

namespace ebbtide::tiers {

class SwapFiles;

enum class IoDirection : std::uint8_t { kRead, kWrite };

// Offset and size are multiples of kPageAlignment; offset is in the swap space, which the files
// share by stripes.
struct IoRequest {
  std::uint64_t offset = 0;
  std::byte* memory = nullptr;
  std::uint64_t size_bytes = 0;
};

// Plain data, kept until somebody waits and turned into an Error there.
struct IoResult {
  std::error_code error;      // none: everything moved
  std::uint64_t offset = 0;   // in the file, of the transfer that failed
  std::uint64_t wanted = 0;   // bytes
  std::uint64_t got = 0;      // bytes
  std::string path;
};

using JobId = std::uint64_t;
using OnComplete = std::function<void(JobId, const IoResult&)>;

class IoQueue {
 public:
  virtual ~IoQueue() = default;
  // Starts a job: all requests in one direction. Enqueues and returns; any number of jobs may be
  // outstanding, at most the queue's depth of blocks is given to the kernel at once.
  virtual void submit(JobId job, IoDirection direction, std::span<const IoRequest> requests) = 0;
  // Blocks until no job is outstanding.
  virtual void drain() = 0;
  virtual std::string engine_name() const = 0;  // "io_uring", "threads"
};

struct IoQueueOptions {
  std::uint64_t block_bytes = std::uint64_t{1} << 20;  // a transfer given to the kernel at most
  std::uint32_t depth = 16;
  std::span<std::byte> registered;  // the host arena, to be registered where that is allowed
};

}  // namespace ebbtide::tiers
