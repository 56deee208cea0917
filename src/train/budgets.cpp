#include "src/train/budgets.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>

#include "ebbtide/error.hpp"
#include "tiering/tiers/available_memory.hpp"

namespace ebbtide::train {
namespace {

// Beside the arenas the process holds at most 200 MiB (the constant of the memory bill).
constexpr std::uint64_t kLeastMargin = std::uint64_t{256} << 20;
// Where both arenas are given they are meant: only what no run does without stays free (runs held
// 19 MiB and more beside the arenas, see the bill's constant). Whether it is enough is seen when
// the arenas are reserved, after planning.
constexpr std::uint64_t kMarginOfGiven = std::uint64_t{32} << 20;
constexpr std::uint64_t kMarginShare = 16;
constexpr std::uint64_t kDiskMarginShare = 20;

[[noreturn]] void refuse_path(const std::filesystem::path& path, int error, const char* advice) {
  throw Error(Errc::kBadUsage, fmt::format("--nvme-path {}: {} (errno {}); {}", path.string(),
                                           std::generic_category().message(error), error, advice));
}

void check_directory(const std::filesystem::path& path, struct stat& status) {
  if (stat(path.c_str(), &status) != 0) refuse_path(path, errno, "give a directory that exists");
  if (!S_ISDIR(status.st_mode)) refuse_path(path, ENOTDIR, "give a directory");
  if (access(path.c_str(), W_OK | X_OK) != 0)
    refuse_path(path, errno, "give a directory that this user may write");
}

// Free bytes below the directories, each file system counted once; nothing where one has no size of
// its own to tell (ramfs and some network file systems say 0 of 0 blocks).
std::optional<std::uint64_t> free_disk_bytes(
    const std::vector<std::filesystem::path>& directories) {
  std::set<dev_t> seen;
  std::optional<std::uint64_t> bytes = 0;
  for (const std::filesystem::path& path : directories) {
    struct stat status {};
    check_directory(path, status);
    struct statvfs space {};
    if (!seen.insert(status.st_dev).second || statvfs(path.c_str(), &space) != 0) continue;
    if (space.f_blocks == 0) bytes.reset();
    if (bytes) *bytes += std::uint64_t{space.f_bavail} * space.f_frsize;
  }
  return bytes;
}

std::uint64_t minus(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : 0;
}
std::uint64_t page_floor(std::uint64_t bytes) {
  return bytes / kPageAlignment * kPageAlignment;
}

[[noreturn]] void memory_does_not_fit(std::uint64_t device, std::uint64_t host,
                                      const MachineLimits& limits, std::uint64_t margin) {
  throw Error(Errc::kDoesNotFit,
              fmt::format("--device-memory {} and --host-memory {} need {} bytes together; {} has "
                          "{}, of which {} stay free; at most {} fit",
                          device, host, device + host, limits.memory_limited_by,
                          limits.memory_bytes, margin, minus(limits.memory_bytes, margin)));
}

std::uint64_t nvme_budget(const MemoryOptions& options, std::optional<std::uint64_t> disk_bytes) {
  if (options.nvme_paths.empty()) return 0;
  if (!options.nvme_bytes && !disk_bytes)
    throw Error(Errc::kBadUsage,
                "--nvme-path: a file system there does not say how much it has free; give "
                "--nvme-memory");
  if (!options.nvme_bytes) return page_floor(*disk_bytes - *disk_bytes / kDiskMarginShare);
  if (disk_bytes && *options.nvme_bytes > *disk_bytes)
    throw Error(Errc::kDoesNotFit,
                fmt::format("--nvme-memory {} needs more than the {} bytes that --nvme-path has "
                            "free; free space there, ask for at most that or add an --nvme-path",
                            *options.nvme_bytes, *disk_bytes));
  return *options.nvme_bytes;
}

}  // namespace

MachineLimits machine_limits(const MemoryOptions& options) {
  const tiers::AvailableMemory memory = tiers::available_memory();
  return {.memory_bytes = memory.size_bytes,
          .memory_limited_by = memory.limited_by,
          .disk_bytes = free_disk_bytes(options.nvme_paths)};
}

std::uint64_t memory_margin(std::uint64_t memory_bytes) {
  return std::max(kLeastMargin, memory_bytes / kMarginShare);
}

Budgets resolve_budgets(const MemoryOptions& options, const MachineLimits& limits) {
  const std::uint64_t margin = options.device_bytes && options.host_bytes
                                   ? kMarginOfGiven
                                   : memory_margin(limits.memory_bytes);
  const std::uint64_t usable = minus(limits.memory_bytes, margin);
  const std::uint64_t given = options.device_bytes.value_or(0) + options.host_bytes.value_or(0);
  if (given > usable)
    memory_does_not_fit(options.device_bytes.value_or(0), options.host_bytes.value_or(0), limits,
                        margin);
  const std::uint64_t rest = usable - given;
  const std::uint64_t share = options.device_bytes || options.host_bytes ? rest : rest / 2;
  return {.device_bytes =
              options.device_bytes.value_or(page_floor(std::min(share, kLargestDeviceBytes))),
          .host_bytes = options.host_bytes.value_or(page_floor(share)),
          .nvme_bytes = nvme_budget(options, limits.disk_bytes)};
}

}  // namespace ebbtide::train
