// Why io_uring is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ebbtide::tiers {

enum class RingRefusal : std::uint8_t {
  kNoKernelSupport,  // or hidden by a seccomp filter that answers ENOSYS
  kSysctl,           // kernel.io_uring_disabled
  kSeccomp,          // a filter, as containers have
  kPolicy,           // a security policy (SELinux, ...)
  kLockedMemory,     // RLIMIT_MEMLOCK
  kOther,
};

// From the errno of setting a ring up and what /proc below `root` says.
RingRefusal ring_refusal(int error, const std::filesystem::path& root = "/");

// What kernel.io_uring_disabled says: 0 allowed, 1 privileged processes only, 2 refused to all;
// 0 too where the kernel has no such setting.
int ring_sysctl(const std::filesystem::path& root = "/");

// The cause in words, for messages; empty where the errno says it all.
std::string ring_refusal_text(int error, const std::filesystem::path& root = "/");

}  // namespace ebbtide::tiers
