#include "src/measure/disk_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ebbtide/error.hpp"

namespace ebbtide::measure {
namespace {

// Job `index` of `count`, in an order that meets each once: steps of about the golden section.
std::uint64_t scattered(std::uint64_t index, std::uint64_t count) {
  std::uint64_t step = count * 618 / 1000 + 1;
  while (std::gcd(step, count) != 1) ++step;
  return index * step % count;
}

}  // namespace

DiskStream::DiskStream(const tiers::SwapFiles& files, const DiskStreamOptions& options)
    : options_(options) {
  const std::uint64_t places = options.memory.size() / options.job_bytes;
  EBBTIDE_CHECK(places > 0, fmt::format("{} bytes", options.memory.size()));
  for (std::uint64_t place = 0; place < places; ++place) free_.push_back(place);
  submitted_.resize(places);
  queue_ = make_io_queue(
      options.engine, files,
      {.block_bytes = options.block_bytes, .depth = options.depth, .registered = options.memory},
      [this](tiers::JobId place, const tiers::IoResult& result) { end(place, result); });
}

DiskRun DiskStream::run(const DiskWork& work, const std::stop_token& stop) {
  DiskRun run;
  latencies_.clear();
  const Clock::time_point start = Clock::now();
  submit_all(work, stop, run);
  queue_->drain();
  run.seconds = seconds_since(start);
  if (failure_.error) throw io_error(work.direction, failure_);
  throw_if_stopped(stop);
  run.latencies = latencies_;
  return run;
}

void DiskStream::submit_all(const DiskWork& work, const std::stop_token& stop, DiskRun& run) {
  EBBTIDE_CHECK(work.begin < work.end, fmt::format("{} to {}", work.begin, work.end));
  const std::uint64_t jobs = (work.end - work.begin - 1) / options_.job_bytes + 1;
  const Clock::time_point start = Clock::now();
  for (std::uint64_t job = 0; job < jobs * work.passes && !stop.stop_requested(); ++job) {
    if (job > 0 && seconds_since(start) >= work.seconds) return;
    const std::uint64_t place = take_place();
    const std::uint64_t index =
        work.order == JobOrder::kScattered ? scattered(job % jobs, jobs) : job % jobs;
    const std::uint64_t at = work.begin + index * options_.job_bytes;
    const tiers::IoRequest request{at, options_.memory.data() + place * options_.job_bytes,
                                   std::min(options_.job_bytes, work.end - at)};
    submitted_[place] = Clock::now();
    queue_->submit(place, work.direction, {&request, 1});
    run.moved_bytes += request.size_bytes;
  }
}

std::uint64_t DiskStream::take_place() {
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [this] { return !free_.empty(); });
  const std::uint64_t place = free_.back();
  free_.pop_back();
  return place;
}

void DiskStream::end(std::uint64_t place, const tiers::IoResult& result) {
  const double seconds = seconds_since(submitted_[place]);
  const std::lock_guard lock(mutex_);
  if (result.error) failure_ = result;
  latencies_.push_back(seconds);
  free_.push_back(place);
  freed_.notify_one();
}

}  // namespace ebbtide::measure
