// A stream of jobs through the NVMe tier's own queue: how fast it goes and how long a job takes.
//
// Not thread-safe; two streams of one set of files may run on two threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <vector>

#include "src/measure/sampling.hpp"
#include "tiering/tiers/io_queue.hpp"
#include "tiering/tiers/swap_files.hpp"

namespace ebbtide::measure {

// kScattered: a fixed order in which neighbours are far apart.
enum class JobOrder : std::uint8_t { kAscending, kScattered };

struct DiskStreamOptions {
  IoEngine engine = IoEngine::kAuto;
  std::uint64_t job_bytes = 0;    // a multiple of kPageAlignment
  std::uint64_t block_bytes = 0;  // what the kernel gets at most
  std::uint32_t depth = 1;        // blocks in flight
  // Registered; each job_bytes of it is one more job that may be outstanding. Whole pages.
  std::span<std::byte> memory{};
};

// Jobs on [begin, end) of the swap space, until all of it was moved once or time is up; at least
// one, and with time left over and `passes` above one from the start again.
struct DiskWork {
  tiers::IoDirection direction = tiers::IoDirection::kRead;
  JobOrder order = JobOrder::kAscending;
  std::uint64_t begin = 0;  // a multiple of kPageAlignment
  std::uint64_t end = 0;
  std::uint64_t passes = 1;
  double seconds = std::numeric_limits<double>::infinity();
};

struct DiskRun {
  std::uint64_t moved_bytes = 0;
  double seconds = 0;
  std::vector<double> latencies;  // seconds from a job's submission to its completion

  double bytes_per_s() const { return static_cast<double>(moved_bytes) / seconds; }
};

class DiskStream {
 public:
  // The files must outlive it. Throws as make_io_queue does.
  DiskStream(const tiers::SwapFiles& files, const DiskStreamOptions& options);
  DiskStream(const DiskStream&) = delete;
  DiskStream& operator=(const DiskStream&) = delete;

  // Blocks until no job is outstanding. Throws the Error of a job that failed, and
  // Error(kCancelled) once a stop was requested.
  DiskRun run(const DiskWork& work, const std::stop_token& stop);
  const std::vector<std::string>& warnings() const { return queue_->warnings(); }

 private:
  std::uint64_t take_place();
  void end(std::uint64_t place, const tiers::IoResult& result);
  void submit_all(const DiskWork& work, const std::stop_token& stop, DiskRun& run);

  const DiskStreamOptions options_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::uint64_t> free_;           // guarded by mutex_
  std::vector<Clock::time_point> submitted_;  // by place; of the place's holder
  std::vector<double> latencies_;             // guarded by mutex_
  tiers::IoResult failure_;                   // guarded by mutex_
  std::unique_ptr<tiers::IoQueue> queue_;     // last: gone before what its completions touch
};

}  // namespace ebbtide::measure
