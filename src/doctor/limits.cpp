// What the system limits of a process: open files, threads, sizes.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>

#include "src/doctor/checks.hpp"
#include "src/doctor/system_files.hpp"
#include "src/report/units.hpp"
#include "tiering/tiers/control_groups.hpp"

namespace ebbtide::doctor {
namespace {

namespace fs = std::filesystem;
using report::bytes_text;

// A run with one swap file has fewer than 8 files open; data, logs and checkpoints add some.
constexpr std::uint64_t kFilesOfARun = 16;
// Lanes, rings and watchers beside the threads that compute.
constexpr std::uint64_t kThreadsBeside = 16;

// That this user's processes have by now, as /proc shows them: the limit counts them all.
std::uint64_t threads_of_user(const System& system) {
  std::uint64_t count = 0;
  std::error_code ended;
  for (fs::directory_iterator at(system.root() / "proc", ended), end; !ended && at != end;
       at.increment(ended)) {
    if (at->is_symlink(ended)) continue;  // self, thread-self
    std::ifstream status(at->path() / "status");
    std::uint32_t user = 0;
    bool is_own = false;
    std::string key;
    while (status >> key) {
      if (key == "Uid:") is_own = status >> user && user == system.user();
      std::uint64_t threads = 0;
      if (key == "Threads:" && is_own && status >> threads) count += threads;
      status.clear();
      status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
  }
  return count;
}

std::string count_text(std::uint64_t count) {
  return count == kUnlimited ? "unlimited" : fmt::format("{}", count);
}

}  // namespace

Findings check_open_files(const System& system, const Needs& needs) {
  const std::uint64_t limit = system.limit(Resource::kOpenFiles);
  const std::uint64_t needed = kFilesOfARun + needs.nvme_paths.size();
  Finding finding{"open_files", "open files", Verdict::kGood,
                  fmt::format("{} (ulimit -n)", count_text(limit)),
                  fmt::format("a run has at most {} open", needed)};
  if (limit >= needed) return {finding};
  finding.verdict = Verdict::kInTheWay;
  finding.remedy = "ulimit -n 1024 (Docker: --ulimit nofile=1024)";
  return {finding};
}

Findings check_threads(const System& system) {
  const std::uint64_t needed = static_cast<std::uint64_t>(system.usable_cpus()) + kThreadsBeside;
  const std::uint64_t limit = system.limit(Resource::kThreads);
  const std::uint64_t taken = limit == kUnlimited ? 0 : threads_of_user(system);
  const std::uint64_t left_to_user = limit - std::min(limit, taken);
  const auto left = tiers::threads_left(system.root());
  Finding finding{"threads", "threads", Verdict::kGood,
                  fmt::format("this user: {} (ulimit -u)", count_text(limit)),
                  fmt::format("a run starts at most {}", needed)};
  if (taken > 0) finding.found += fmt::format(", of which {} are taken", taken);
  if (left) finding.found += fmt::format("; {} leaves {}", left->limited_by, left->count);
  if (std::min(left_to_user, left ? left->count : kUnlimited) >= needed) return {finding};
  // Root is held to no limit of a user.
  if (system.user() == 0 && (!left || left->count >= needed)) return {finding};
  finding.verdict = Verdict::kInTheWay;
  finding.remedy = left_to_user < needed
                       ? "ulimit -u 4096, or fewer --threads"
                       : "raise pids.max of the group (Docker: --pids-limit; systemd: TasksMax=)";
  return {finding};
}

Findings check_sizes(const System& system) {
  const std::uint64_t file = system.limit(Resource::kFileSize);
  const std::uint64_t space = system.limit(Resource::kAddressSpace);
  if (file == kUnlimited && space == kUnlimited)
    return {{"sizes", "file size, address space", Verdict::kGood, "unlimited (ulimit -f, -v)",
             "swap files and arenas are as large as their budgets"}};
  Finding finding{"sizes", "file size, address space", Verdict::kCouldBeBetter, "", ""};
  if (file != kUnlimited) {
    finding.found = fmt::format("files have at most {} (ulimit -f)", bytes_text(file));
    finding.meaning = "no swap file is larger: a larger --nvme-memory is refused at the start";
    finding.remedy = "ulimit -f unlimited";
  }
  if (space != kUnlimited) {
    finding.found += fmt::format("{}the address space at most {} (ulimit -v)",
                                 finding.found.empty() ? "" : "; ", bytes_text(space));
    finding.meaning += fmt::format("{}larger arenas are refused at the start",
                                   finding.meaning.empty() ? "" : "; ");
    finding.remedy += fmt::format("{}ulimit -v unlimited", finding.remedy.empty() ? "" : "; ");
  }
  return {finding};
}

}  // namespace ebbtide::doctor
