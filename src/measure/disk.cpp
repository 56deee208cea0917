#include "src/measure/disk.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <future>
#include <map>
#include <random>

#include "ebbtide/error.hpp"
#include "src/measure/disk_stream.hpp"
#include "tiering/tiers/host_arena.hpp"

namespace ebbtide::measure {
namespace {

namespace fs = std::filesystem;
using tiers::IoDirection;

constexpr std::array<std::uint64_t, 4> kBlocks{kSmallestBlockBytes, 64 << 10, 256 << 10,
                                               kUsualBlockBytes};
constexpr std::array<std::uint32_t, 4> kDepths{1, 4, kUsualDepth, 64};
constexpr std::uint64_t kDirectionBytes = kBlocks.back() * kDepths.back();

// Of all files together.
constexpr std::uint64_t kLeastFileBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 30;
// A file for which a slow drive still has the time.
constexpr double kFileBytesPerSecond = 64 << 20;
// Of the section: a drive at a tenth of the usual rates then has some of the file written.
constexpr double kFirstPassShare = 0.2;
constexpr std::uint64_t kManyPasses = std::uint64_t{1} << 20;  // until time is up

[[noreturn]] void refuse_path(const fs::path& path, int error, const char* advice) {
  throw Error(Errc::kBadUsage, fmt::format("--nvme-path {}: {} (errno {}); {}", path.string(),
                                           std::generic_category().message(error), error, advice));
}

// The directories, one a file system, and what is free there.
void find_drives(const std::vector<fs::path>& directories, DiskFigures& figures) {
  std::map<dev_t, fs::path> seen;
  for (const fs::path& path : directories) {
    struct stat status {};
    struct statvfs space {};
    if (stat(path.c_str(), &status) != 0 || statvfs(path.c_str(), &space) != 0)
      refuse_path(path, errno, "give a directory that can be read");
    const auto [at, is_new] = seen.emplace(status.st_dev, path);
    if (!is_new) {
      figures.warnings.push_back(fmt::format("{} is on the file system of {}: left out",
                                             path.string(), at->second.string()));
      continue;
    }
    const std::uint64_t free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
    figures.capacity_bytes =
        figures.directories.empty() ? free_bytes : std::min(figures.capacity_bytes, free_bytes);
    figures.directories.push_back(path);
  }
}

std::uint64_t file_bytes(const DiskFigures& figures, double seconds) {
  const std::uint64_t free_bytes = figures.capacity_bytes * figures.directories.size();
  const auto in_time = static_cast<std::uint64_t>(std::min(seconds, 1e6) * kFileBytesPerSecond);
  const std::uint64_t wanted = std::clamp(in_time, kLeastFileBytes, kMostFileBytes);
  const std::uint64_t most = free_bytes / 2 / kUsualBlockBytes * kUsualBlockBytes;
  return std::max(kLeastFileBytes, std::min(wanted, most));
}

DiskFigure figure_of(const DiskRun& run) {
  return {run.bytes_per_s(), quantile(run.latencies, 0.5), quantile(run.latencies, 0.99)};
}

class DiskMeasurement {
 public:
  DiskMeasurement(DiskFigures& figures, Pace& pace)
      : figures_(figures),
        pace_(pace),
        files_({.size_bytes = file_bytes(figures, pace.section_seconds()),
                .directories = figures.directories}),
        arena_({.size_bytes = 2 * kDirectionBytes}) {
    // Drives may compress zeros.
    std::mt19937_64 random(1);
    for (std::size_t at = 0; at < arena_.bytes().size(); at += sizeof(std::uint64_t)) {
      const std::uint64_t bits = random();
      std::memcpy(arena_.bytes().data() + at, &bits, sizeof bits);
    }
    note(files_.warnings());
  }

  // Writes a beginning of the files, which is all that is used from then on.
  void write_first() {
    DiskStream stream(files_, options(kUsualBlockBytes, kUsualDepth, IoDirection::kWrite));
    note(stream.warnings());
    DiskWork work{.direction = IoDirection::kWrite, .end = kLeastFileBytes};
    written(stream.run(work, pace_.stop()));
    written_bytes_ = kLeastFileBytes;
    if (files_.size_bytes() == written_bytes_) return;
    work.begin = written_bytes_;
    work.end = files_.size_bytes();
    work.seconds = kFirstPassShare * pace_.section_seconds();
    written_bytes_ += written(stream.run(work, pace_.stop())).moved_bytes;
  }

  void measure(std::uint64_t block_bytes, std::uint32_t depth) {
    DiskCell cell{.block_bytes = block_bytes, .depth = depth};
    const auto begin = [&](const char* what) {
      return pace_.begin(fmt::format("{} of {} KiB at depth {}", what, block_bytes >> 10, depth));
    };
    DiskStream reads(files_, options(block_bytes, depth, IoDirection::kRead));
    DiskStream writes(files_, options(block_bytes, depth, IoDirection::kWrite));
    note(reads.warnings());
    cell.read = figure_of(reads.run(all(IoDirection::kRead, begin("reads")), pace_.stop()));
    cell.write =
        figure_of(written(writes.run(all(IoDirection::kWrite, begin("writes")), pace_.stop())));
    DiskWork upper = all(IoDirection::kWrite, begin("reads and writes"));
    DiskWork lower = all(IoDirection::kRead, upper.seconds);
    lower.end = upper.begin = written_bytes_ / 2 / kUsualBlockBytes * kUsualBlockBytes;
    // Its future's destructor waits, whatever the reads throw.
    auto beside = std::async(std::launch::async, [&] { return writes.run(upper, pace_.stop()); });
    cell.mixed_read = figure_of(reads.run(lower, pace_.stop()));
    cell.mixed_write = figure_of(written(beside.get()));
    figures_.cells.push_back(cell);
  }

 private:
  // One job a block; as many as may be in flight, so that none waits for another's.
  DiskStreamOptions options(std::uint64_t block_bytes, std::uint32_t depth,
                            IoDirection direction) const {
    const std::uint64_t at = direction == IoDirection::kRead ? 0 : kDirectionBytes;
    return {.job_bytes = block_bytes,
            .block_bytes = block_bytes,
            .depth = depth,
            .memory = arena_.bytes().subspan(at, block_bytes * depth)};
  }
  DiskWork all(IoDirection direction, double seconds) const {
    return {.direction = direction,
            .order = JobOrder::kScattered,
            .end = written_bytes_,
            .passes = kManyPasses,
            .seconds = seconds};
  }
  DiskRun written(DiskRun run) {
    figures_.written_bytes += run.moved_bytes;
    return run;
  }
  void note(const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings)
      if (std::ranges::find(figures_.warnings, warning) == figures_.warnings.end())
        figures_.warnings.push_back(warning);
  }

  DiskFigures& figures_;
  Pace& pace_;
  tiers::SwapFiles files_;
  tiers::HostArena arena_;
  std::uint64_t written_bytes_ = 0;  // of the files, from their beginning
};

}  // namespace

void check_directories(const std::vector<fs::path>& directories) {
  for (const fs::path& path : directories) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) refuse_path(path, errno, "give a directory that exists");
    if (!S_ISDIR(status.st_mode)) refuse_path(path, ENOTDIR, "give a directory");
    if (access(path.c_str(), W_OK | X_OK) != 0)
      refuse_path(path, errno, "give a directory that this user may write");
  }
}

DiskFigures measure_disk(const std::vector<fs::path>& directories, Pace& pace) {
  check_directories(directories);
  DiskFigures figures;
  find_drives(directories, figures);
  pace.expect(1 + 3 * kBlocks.size() * kDepths.size());
  pace.begin("first writes");
  DiskMeasurement measurement(figures, pace);
  measurement.write_first();
  for (const std::uint64_t block_bytes : kBlocks)
    for (const std::uint32_t depth : kDepths) measurement.measure(block_bytes, depth);
  return figures;
}

}  // namespace ebbtide::measure
