#include "src/device/link_pace.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <thread>

namespace ebbtide::device {
namespace {

// By default the kernel lets a sleeper lie for 50 us more, as long as a link takes for 1 MiB.
void wake_this_thread_on_time() {
  thread_local const int done = ::prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
  static_cast<void>(done);
}

}  // namespace

void LinkPace::begin() {
  if (!bytes_per_s_) return;
  wake_this_thread_on_time();
  free_at_ = std::max(free_at_, Clock::now());
}

void LinkPace::pass(std::uint64_t size_bytes) {
  if (!bytes_per_s_) return;
  const std::chrono::duration<double> carried(static_cast<double>(size_bytes) / *bytes_per_s_);
  free_at_ += std::chrono::ceil<Clock::duration>(carried);
  std::this_thread::sleep_until(free_at_);
}

}  // namespace ebbtide::device
