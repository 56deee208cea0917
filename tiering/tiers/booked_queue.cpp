#include "tiering/tiers/booked_queue.hpp"

#include <fmt/format.h>

#include <utility>

namespace ebbtide::tiers {

BookedQueue::BookedQueue(const SwapFiles& files, const IoQueueOptions& options,
                         OnComplete on_complete)
    : files_(files),
      faults_(options.faults),
      on_complete_(std::move(on_complete)),
      book_(files, options) {
  EBBTIDE_CHECK(options.depth > 0, fmt::format("queue depth {}", options.depth));
}

void BookedQueue::submit(JobId job, IoDirection direction, std::span<const IoRequest> requests) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t transfers = book_.add(job, direction, requests);
  ++outstanding_;
  wake(transfers > 0 ? transfers : 1);
}

void BookedQueue::reserve(std::size_t jobs, std::size_t requests) {
  const std::lock_guard lock(mutex_);
  book_.reserve(jobs, requests);
}

void BookedQueue::drain() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return outstanding_ == 0; });
}

void BookedQueue::tell_finished(std::unique_lock<std::mutex>& lock) {
  Job* const job = book_.take_finished();
  lock.unlock();
  on_complete_(job->id, job->result);
  lock.lock();
  book_.recycle(job);
  if (--outstanding_ == 0) idle_.notify_all();
}

}  // namespace ebbtide::tiers
