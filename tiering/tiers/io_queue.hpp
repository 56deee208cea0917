// A queue of reads and writes between the host arena and the swap files.
//
// One queue serves one lane. submit() is called from that lane's thread; completions are told on a
// thread of the queue's own (of the ring's owner, or of the worker that finished the job), with no
// lock held. Jobs start in order and may complete in any.
//
// Invariants
//  1. The memory of a job stays alive and untouched until its completion is told.
//  2. A short transfer is resumed; a job completes once, in full or with its first error, and then
//     none of its transfers is in flight.
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

#include "ebbtide/engine.hpp"
#include "ebbtide/error.hpp"
#include "tiering/tiers/io_faults.hpp"

namespace ebbtide::tiers {

class Checksums;
class SwapFiles;

// Offset and size are multiples of kPageAlignment, memory too; offset is in the swap space, which
// the files share by stripes. A value of n bytes travels as extent(n, Tier::kNvme) bytes.
struct IoRequest {
  std::uint64_t offset = 0;
  std::byte* memory = nullptr;
  std::uint64_t size_bytes = 0;
};

// Throws ContractViolation for a request that is not aligned or not in the swap space.
void check_request(const SwapFiles& files, const IoRequest& request);

// Plain data, kept until somebody waits and turned into an Error there.
struct IoResult {
  std::error_code error;     // none: everything moved
  std::uint64_t offset = 0;  // in the file, of the transfer that failed
  std::uint64_t wanted = 0;  // bytes
  std::uint64_t got = 0;     // bytes
  std::string path;
  std::string detail;  // more than the code says: both checksums, why it was given up
};

// The Error of a failed job. Requires result.error.
Error io_error(IoDirection direction, const IoResult& result);

using JobId = std::uint64_t;
using OnComplete = std::function<void(JobId, const IoResult&)>;  // must not throw

class IoQueue {
 public:
  virtual ~IoQueue() = default;
  // Starts a job: all requests in one direction; none at all completes at once. Enqueues and
  // returns; any number of jobs may be outstanding, at most the queue's depth of blocks is given to
  // the kernel at once. Requires aligned requests inside the swap space.
  virtual void submit(JobId job, IoDirection direction, std::span<const IoRequest> requests) = 0;
  // Makes room, so that nothing is allocated while at most this many jobs of at most this many
  // requests are outstanding. Requires that none is.
  virtual void reserve(std::size_t jobs, std::size_t requests) = 0;
  // Blocks until no job is outstanding: every completion has been told. Not from a completion.
  virtual void drain() = 0;
  virtual std::string engine_name() const = 0;  // "io_uring", "threads"
  // What was not as asked, one line each. Constant after the queue is made.
  virtual const std::vector<std::string>& warnings() const = 0;
};

struct IoQueueOptions {
  std::uint64_t block_bytes = std::uint64_t{1} << 20;  // a transfer given to the kernel at most
  std::uint32_t depth = 16;
  std::span<std::byte> registered{};  // the host arena, to be registered where that is allowed
  Checksums* checksums = nullptr;     // shared by the queues that write and that read; null: none
  IoFaults* faults = nullptr;         // for tests
};

// Files, checksums and faults must outlive the queue. kAuto takes io_uring and falls back to
// threads with one warning that names the errno and its likely cause; kUring throws the Error
// instead.
std::unique_ptr<IoQueue> make_io_queue(IoEngine engine, const SwapFiles& files,
                                       const IoQueueOptions& options, OnComplete on_complete);

}  // namespace ebbtide::tiers
