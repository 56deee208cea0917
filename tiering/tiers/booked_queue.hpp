// What both queues share: the book of jobs behind a mutex, and the count that drain() waits for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "tiering/tiers/io_queue.hpp"
#include "tiering/tiers/job_book.hpp"

namespace ebbtide::tiers {

// A derived class drains and ends its threads in its own destructor, before its members die.
class BookedQueue : public IoQueue {
 public:
  void submit(JobId job, IoDirection direction, std::span<const IoRequest> requests) final;
  void reserve(std::size_t jobs, std::size_t requests) final;
  void drain() final;
  const std::vector<std::string>& warnings() const final { return warnings_; }

 protected:
  BookedQueue(const SwapFiles& files, const IoQueueOptions& options, OnComplete on_complete);

  // New transfers can be cut. Called with the mutex held.
  virtual void wake(std::uint64_t transfers) = 0;
  // Tells one finished job, with the lock released meanwhile. Requires has_finished().
  void tell_finished(std::unique_lock<std::mutex>& lock);

  // Constant once made.
  const SwapFiles& files_;
  IoFaults* const faults_;
  const OnComplete on_complete_;
  std::vector<std::string> warnings_;

  // Shared, guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable idle_;  // outstanding_ is 0
  JobBook book_;
  std::uint64_t outstanding_ = 0;  // jobs submitted and not yet told
  bool stopping_ = false;
};

}  // namespace ebbtide::tiers
