#include "tiering/tiers/uring_queue.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "tiering/tiers/booked_queue.hpp"
#include "tiering/tiers/quiet_thread.hpp"
#include "tiering/tiers/swap_files.hpp"
#include "tiering/tiers/uring_ring.hpp"

namespace ebbtide::tiers {
namespace {

// Tags of completions: a slot's number, with kDelayTag if it is the end of a test's delay.
constexpr std::uint64_t kDelayTag = std::uint64_t{1} << 32;
constexpr std::uint64_t kWakeTag = std::uint64_t{1} << 33;

// The kernel refusing entries for want of memory is waited out this long, then it is an error.
constexpr int kMostRefusals = 1000;
constexpr std::chrono::milliseconds kRefusalPause{1};

class EventDescriptor {
 public:
  // Blocking: a read in the ring then waits instead of failing with EAGAIN.
  EventDescriptor() : descriptor_(::eventfd(0, EFD_CLOEXEC)) {
    if (descriptor_ < 0)
      throw Error(std::error_code(errno, std::system_category()), {.operation = "make an eventfd"});
  }
  ~EventDescriptor() { ::close(descriptor_); }
  EventDescriptor(const EventDescriptor&) = delete;
  EventDescriptor& operator=(const EventDescriptor&) = delete;

  int get() const { return descriptor_; }
  void signal() const { ::eventfd_write(descriptor_, 1); }
  void take() const {
    eventfd_t value = 0;
    ::eventfd_read(descriptor_, &value);
  }

 private:
  int descriptor_;
};

class UringQueue final : public BookedQueue {
 public:
  UringQueue(const SwapFiles& files, const IoQueueOptions& options, OnComplete on_complete);
  ~UringQueue() override;
  std::string engine_name() const override { return "io_uring"; }

 private:
  struct Slot {
    Transfer transfer;
    IoFault fault;
    __kernel_timespec delay{};
  };
  struct LocalAnswer {  // given without asking the kernel
    std::uint32_t slot = 0;
    std::int64_t answer = 0;
  };

  void wake(std::uint64_t transfers) override;
  void run();
  bool prepare_work();
  bool conclude_local_answers();
  void begin(std::uint32_t number);
  void issue(std::uint32_t number);
  void arm_wake();
  void wait();
  void note_refused(int error);
  void give_up(int error);
  void on_completion(std::uint64_t tag, std::int64_t answer);
  void conclude(std::uint32_t number, std::int64_t answer);

  // Constant once made.
  EventDescriptor event_;
  // I/O thread only.
  UringRing ring_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<LocalAnswer> local_answers_;
  std::vector<std::uint64_t> prepared_;  // tags of entries not handed to the kernel, in order
  std::uint64_t wake_value_ = 0;         // the ring reads the eventfd into it
  bool wake_armed_ = false;
  int refusals_ = 0;  // in a row
  int broken_ = 0;    // errno, once the kernel serves the ring no longer
  // Shared, guarded by mutex_.
  bool wants_wake_ = false;  // the I/O thread sleeps and has a slot free

  std::thread thread_;
};

UringQueue::UringQueue(const SwapFiles& files, const IoQueueOptions& options,
                       OnComplete on_complete)
    : BookedQueue(files, options, std::move(on_complete)),
      ring_(files, options, warnings_),
      slots_(ring_.depth()) {
  for (std::uint32_t slot = ring_.depth(); slot > 0; --slot) free_slots_.push_back(slot - 1);
  local_answers_.reserve(slots_.size());
  prepared_.reserve(slots_.size() + 1);
  thread_ = start_quiet_thread([this] { run(); });
}

UringQueue::~UringQueue() {
  drain();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  event_.signal();
  thread_.join();
}

void UringQueue::wake(std::uint64_t) {
  if (!wants_wake_) return;
  wants_wake_ = false;
  event_.signal();
}

void UringQueue::run() {
  while (prepare_work()) {
    if (conclude_local_answers()) continue;
    if (!wake_armed_ && !broken_) arm_wake();
    wait();
    ring_.reap([this](std::uint64_t tag, std::int64_t answer) { on_completion(tag, answer); });
  }
}

// Tells what has finished and fills the free slots. False: the queue is drained and ends.
bool UringQueue::prepare_work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (book_.has_finished()) {
      tell_finished(lock);
    } else if (book_.can_cut() && !free_slots_.empty()) {
      const std::uint32_t slot = free_slots_.back();
      free_slots_.pop_back();
      slots_[slot].transfer = book_.cut();
      lock.unlock();
      begin(slot);
      lock.lock();
    } else {
      break;
    }
  }
  wants_wake_ = !free_slots_.empty();
  return !stopping_;
}

bool UringQueue::conclude_local_answers() {
  if (local_answers_.empty()) return false;
  while (!local_answers_.empty()) {
    const LocalAnswer local = local_answers_.back();
    local_answers_.pop_back();
    conclude(local.slot, local.answer);
  }
  return true;
}

void UringQueue::begin(std::uint32_t number) {
  Slot& slot = slots_[number];
  if (faults_) slot.fault = faults_->on_transfer(slot.transfer.rest());
  if (slot.fault.delay.count() == 0 || broken_) return issue(number);
  slot.delay = {slot.fault.delay.count() / 1'000'000, slot.fault.delay.count() % 1'000'000 * 1000};
  if (!ring_.prepare_delay(&slot.delay, number | kDelayTag)) return issue(number);
  prepared_.push_back(number | kDelayTag);
}

void UringQueue::issue(std::uint32_t number) {
  const Slot& slot = slots_[number];
  const int error = broken_ ? broken_ : slot.fault.error;
  if (error != 0) return local_answers_.push_back({number, -error});
  const std::uint32_t alignment = files_.alignment(slot.transfer.whole.file);
  const KernelTransfer rest = shorten(slot.transfer.rest(), slot.fault, alignment);
  if (rest.size_bytes == 0) return local_answers_.push_back({number, 0});
  if (!ring_.prepare(rest, number)) return local_answers_.push_back({number, -EAGAIN});
  prepared_.push_back(number);
}

void UringQueue::arm_wake() {
  wake_armed_ = ring_.prepare_wake(event_.get(), &wake_value_, kWakeTag);
  if (wake_armed_) prepared_.push_back(kWakeTag);
}

void UringQueue::wait() {
  if (broken_) {
    const int descriptor = wake_armed_ ? -1 : event_.get();
    if (ring_.wait_without_entering(descriptor)) event_.take();
    return;
  }
  const int answer = ring_.submit_and_wait();
  if (answer < 0) return note_refused(-answer);
  if (answer > 0) refusals_ = 0;
  prepared_.erase(prepared_.begin(), prepared_.begin() + answer);
}

void UringQueue::note_refused(int error) {
  if (error == EINTR) return;
  if ((error == EAGAIN || error == EBUSY) && ++refusals_ < kMostRefusals) {
    std::this_thread::sleep_for(kRefusalPause);
    return;
  }
  give_up(error);
}

// What the kernel has is still waited for; what it has not been given fails, now and later.
void UringQueue::give_up(int error) {
  broken_ = error;
  for (const std::uint64_t tag : prepared_) {
    if (tag == kWakeTag) {
      wake_armed_ = false;
    } else {
      local_answers_.push_back({static_cast<std::uint32_t>(tag), -error});
    }
  }
  prepared_.clear();
}

void UringQueue::on_completion(std::uint64_t tag, std::int64_t answer) {
  if (tag == kWakeTag) {
    wake_armed_ = false;
    if (answer < 0 && answer != -EINTR && answer != -EAGAIN) give_up(static_cast<int>(-answer));
  } else if (tag & kDelayTag) {
    issue(static_cast<std::uint32_t>(tag));
  } else {
    const auto slot = static_cast<std::uint32_t>(tag);
    conclude(slot, reported(answer, slots_[slot].fault));
  }
}

void UringQueue::conclude(std::uint32_t number, std::int64_t answer) {
  Transfer& transfer = slots_[number].transfer;
  const Outcome outcome = advance(transfer, answer, files_.alignment(transfer.whole.file));
  if (outcome.next == Next::kAgain) return begin(number);
  free_slots_.push_back(number);
  const std::lock_guard lock(mutex_);
  book_.end(transfer, outcome);
}

}  // namespace

std::unique_ptr<IoQueue> make_uring_queue(const SwapFiles& files, const IoQueueOptions& options,
                                          OnComplete on_complete) {
  return std::make_unique<UringQueue>(files, options, std::move(on_complete));
}

}  // namespace ebbtide::tiers
