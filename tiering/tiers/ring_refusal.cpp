#include "tiering/tiers/ring_refusal.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <fstream>
#include <optional>

#include "tiering/tiers/control_groups.hpp"

namespace ebbtide::tiers {
namespace {

namespace fs = std::filesystem;

// "Seccomp:" of /proc/self/status is 2 under a filter.
bool is_filtered(const fs::path& root) {
  constexpr std::uint64_t kFilter = 2;
  return number_in(root / "proc/self/status", "Seccomp:") == kFilter;
}

std::string locked_memory_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{} bytes", limit.rlim_cur);
}

}  // namespace

int ring_sysctl(const fs::path& root) {
  return static_cast<int>(number_in(root / "proc/sys/kernel/io_uring_disabled").value_or(0));
}

RingRefusal ring_refusal(int error, const fs::path& root) {
  if (error == ENOSYS) return RingRefusal::kNoKernelSupport;
  if (error == ENOMEM) return RingRefusal::kLockedMemory;
  if (error != EPERM && error != EACCES) return RingRefusal::kOther;
  if (ring_sysctl(root) != 0) return RingRefusal::kSysctl;
  return is_filtered(root) ? RingRefusal::kSeccomp : RingRefusal::kPolicy;
}

std::string ring_refusal_text(int error, const fs::path& root) {
  switch (ring_refusal(error, root)) {
    case RingRefusal::kNoKernelSupport:
      return is_filtered(root) ? "this kernel has no io_uring, or a seccomp filter (a container's) "
                                 "hides it"
                               : "this kernel has no io_uring, or one before Linux 5.6";
    case RingRefusal::kSysctl:
      return fmt::format("the sysctl kernel.io_uring_disabled is {}", ring_sysctl(root));
    case RingRefusal::kSeccomp:
      return "a seccomp filter (a container's) forbids it";
    case RingRefusal::kPolicy:
      return "a security policy forbids it";
    case RingRefusal::kLockedMemory:
      return fmt::format("too little lockable memory; the limit (RLIMIT_MEMLOCK, ulimit -l) is {}",
                         locked_memory_limit());
    case RingRefusal::kOther:
      break;
  }
  return {};
}

}  // namespace ebbtide::tiers
