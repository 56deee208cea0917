// The control groups above this process (v1 and v2) and what they allow. `root` stands before /proc
// and /sys, for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ebbtide::tiers {

struct ControlGroup {
  enum class Version : std::uint8_t { kOne, kTwo };
  std::filesystem::path directory;
  Version version = Version::kTwo;
};

// Those that may limit what `controller` ("memory", "cpu", "pids") counts, of each hierarchy the
// innermost first, up to where it is mounted.
std::vector<ControlGroup> control_groups(const std::string& controller,
                                         const std::filesystem::path& root = "/");

// The number after `key` in a file of "key number" lines; an empty key takes the first number.
// Nothing where the file or the number is missing ("max" is no number).
std::optional<std::uint64_t> number_in(const std::filesystem::path& file,
                                       const std::string& key = {});

struct CpuQuota {
  double cpus = 0;         // seconds of CPU time a second
  std::string limited_by;  // the control group that is tightest
};
// Nothing where no group limits CPU time.
std::optional<CpuQuota> cpu_quota(const std::filesystem::path& root = "/");

struct ThreadsLeft {
  std::uint64_t count = 0;
  std::string limited_by;  // the control group that is tightest
};
// How many more threads and processes the groups allow; nothing where none limits them.
std::optional<ThreadsLeft> threads_left(const std::filesystem::path& root = "/");

}  // namespace ebbtide::tiers
