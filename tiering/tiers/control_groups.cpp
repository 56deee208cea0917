#include "tiering/tiers/control_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace ebbtide::tiers {
namespace {

namespace fs = std::filesystem;
using Version = ControlGroup::Version;

struct Hierarchy {
  fs::path innermost;
  fs::path top;  // where it is mounted
  Version version;
};

// A line of /proc/self/cgroup is "id:controllers:/path"; v2 has no controllers.
std::optional<Hierarchy> hierarchy_of(const std::string& line, const std::string& controller,
                                      const fs::path& mounts) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos) return std::nullopt;
  const std::string controllers = line.substr(first + 1, second - first - 1);
  const std::string path = line.substr(std::min(line.size(), second + 2));
  const auto below = [&](const fs::path& top) {
    // Seen from inside a container the path may lead out of what is mounted.
    const fs::path group = path.empty() ? top : top / path;
    std::error_code ignored;
    return fs::exists(group, ignored) ? group : top;
  };
  if (controllers.empty()) return Hierarchy{below(mounts), mounts, Version::kTwo};
  if (("," + controllers + ",").find("," + controller + ",") == std::string::npos)
    return std::nullopt;
  const fs::path top = mounts / controller;
  return Hierarchy{below(top), top, Version::kOne};
}

// Of one group; nothing where it sets no limit. v1 writes -1 for none.
std::optional<double> cpus_of(const ControlGroup& group) {
  if (group.version == Version::kTwo) {
    std::ifstream file(group.directory / "cpu.max");  // "quota period", in us
    double quota = 0;
    double period = 0;
    if (file >> quota >> period && period > 0) return quota / period;
    return std::nullopt;
  }
  const auto quota = number_in(group.directory / "cpu.cfs_quota_us");
  const auto period = number_in(group.directory / "cpu.cfs_period_us");
  if (!quota || !period || *period == 0 || static_cast<std::int64_t>(*quota) <= 0)
    return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::string group_text(const ControlGroup& group) {
  return fmt::format("the control group {}", group.directory.string());
}

}  // namespace

std::vector<ControlGroup> control_groups(const std::string& controller, const fs::path& root) {
  std::vector<ControlGroup> groups;
  std::ifstream lines(root / "proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const auto hierarchy = hierarchy_of(line, controller, root / "sys/fs/cgroup");
    if (!hierarchy) continue;
    for (fs::path group = hierarchy->innermost;; group = group.parent_path()) {
      groups.push_back({group, hierarchy->version});
      if (group == hierarchy->top || !group.has_relative_path()) break;
    }
  }
  return groups;
}

std::optional<std::uint64_t> number_in(const fs::path& file, const std::string& key) {
  std::ifstream input(file);
  std::string word;
  if (!key.empty()) {
    while (input >> word && word != key) {
    }
  }
  std::uint64_t number = 0;
  if (input >> number) return number;
  return std::nullopt;
}

std::optional<CpuQuota> cpu_quota(const fs::path& root) {
  std::optional<CpuQuota> tightest;
  for (const ControlGroup& group : control_groups("cpu", root)) {
    const std::optional<double> cpus = cpus_of(group);
    if (cpus && (!tightest || *cpus < tightest->cpus)) tightest = {*cpus, group_text(group)};
  }
  return tightest;
}

std::optional<ThreadsLeft> threads_left(const fs::path& root) {
  std::optional<ThreadsLeft> least;
  for (const ControlGroup& group : control_groups("pids", root)) {
    const auto most = number_in(group.directory / "pids.max");
    const auto used = number_in(group.directory / "pids.current");
    if (!most || !used) continue;
    const std::uint64_t left = *most > *used ? *most - *used : 0;
    if (!least || left < least->count) least = {left, group_text(group)};
  }
  return least;
}

}  // namespace ebbtide::tiers
