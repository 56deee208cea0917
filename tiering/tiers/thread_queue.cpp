#include "tiering/tiers/thread_queue.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

#include "tiering/tiers/booked_queue.hpp"
#include "tiering/tiers/quiet_thread.hpp"
#include "tiering/tiers/swap_files.hpp"

namespace ebbtide::tiers {
namespace {

class ThreadQueue final : public BookedQueue {
 public:
  ThreadQueue(const SwapFiles& files, const IoQueueOptions& options, OnComplete on_complete);
  ~ThreadQueue() override;
  std::string engine_name() const override { return "threads"; }

 private:
  void wake(std::uint64_t transfers) override;
  void run();
  void stop();
  Outcome move(Transfer& transfer) const;
  std::int64_t attempt(const KernelTransfer& transfer) const;
  std::int64_t attempt(const KernelTransfer& transfer, const IoFault& fault) const;

  std::condition_variable work_;  // something to cut or to tell, or the end
  std::vector<std::thread> workers_;
};

ThreadQueue::ThreadQueue(const SwapFiles& files, const IoQueueOptions& options,
                         OnComplete on_complete)
    : BookedQueue(files, options, std::move(on_complete)) {
  const std::uint32_t count = std::min(options.depth, kMostIoThreads);
  workers_.reserve(count);
  try {
    while (workers_.size() < count) workers_.push_back(start_quiet_thread([this] { run(); }));
  } catch (...) {
    stop();
    throw;
  }
}

ThreadQueue::~ThreadQueue() {
  drain();
  stop();
}

void ThreadQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadQueue::wake(std::uint64_t transfers) {
  if (transfers >= workers_.size()) return work_.notify_all();
  for (; transfers > 0; --transfers) work_.notify_one();
}

void ThreadQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stopping_ || book_.has_finished() || book_.can_cut(); });
    if (book_.has_finished()) {
      tell_finished(lock);
    } else if (book_.can_cut()) {
      Transfer transfer = book_.cut();
      lock.unlock();
      const Outcome outcome = move(transfer);
      lock.lock();
      book_.end(transfer, outcome);
    } else {
      return;
    }
  }
}

Outcome ThreadQueue::move(Transfer& transfer) const {
  const std::uint32_t alignment = files_.alignment(transfer.whole.file);
  for (;;) {
    const KernelTransfer rest = transfer.rest();
    const std::int64_t answer = faults_ ? attempt(rest, faults_->on_transfer(rest)) : attempt(rest);
    const Outcome outcome = advance(transfer, answer, alignment);
    if (outcome.next != Next::kAgain) return outcome;
  }
}

std::int64_t ThreadQueue::attempt(const KernelTransfer& transfer) const {
  const int descriptor = files_.descriptor(transfer.file);
  const auto offset = static_cast<off_t>(transfer.offset);
  const ssize_t moved = transfer.direction == IoDirection::kRead
                            ? ::pread(descriptor, transfer.memory, transfer.size_bytes, offset)
                            : ::pwrite(descriptor, transfer.memory, transfer.size_bytes, offset);
  return moved >= 0 ? moved : -errno;
}

std::int64_t ThreadQueue::attempt(const KernelTransfer& transfer, const IoFault& fault) const {
  if (fault.delay.count() > 0) std::this_thread::sleep_for(fault.delay);
  if (fault.error != 0) return -fault.error;
  if (!fault.report_bytes) return attempt(transfer);
  const KernelTransfer shortened = shorten(transfer, fault, files_.alignment(transfer.file));
  return shortened.size_bytes == 0 ? 0 : reported(attempt(shortened), fault);
}

}  // namespace

std::unique_ptr<IoQueue> make_thread_queue(const SwapFiles& files, const IoQueueOptions& options,
                                           OnComplete on_complete) {
  return std::make_unique<ThreadQueue>(files, options, std::move(on_complete));
}

}  // namespace ebbtide::tiers
