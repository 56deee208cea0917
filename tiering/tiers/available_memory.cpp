#include "tiering/tiers/available_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

namespace ebbtide::tiers {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// The number after `key` in a file of "key number" lines; an empty key takes the first number.
// Nothing where the file or the number is missing ("max" is no number).
std::optional<std::uint64_t> read_number(const fs::path& file, const std::string& key = {}) {
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

struct GroupFiles {
  fs::path directory;  // of the group
  fs::path top;        // where its hierarchy is mounted
  const char* limit;
  const char* used;
  const char* reclaimable;  // key in memory.stat: cache that goes before anything is killed
};

void tighten(AvailableMemory& memory, const GroupFiles& files) {
  for (fs::path group = files.directory;; group = group.parent_path()) {
    const auto limit = read_number(group / files.limit);
    const auto used = read_number(group / files.used);
    if (limit && used) {
      const std::uint64_t cache =
          std::min(*used, read_number(group / "memory.stat", files.reclaimable).value_or(0));
      const std::uint64_t held = *used - cache;
      const std::uint64_t left = *limit > held ? *limit - held : 0;
      if (left < memory.size_bytes)
        memory = {left, fmt::format("the control group {}", group.string())};
    }
    if (group == files.top || !group.has_relative_path()) return;
  }
}

// A line of /proc/self/cgroup is "id:controllers:/path"; v2 has no controllers.
std::optional<GroupFiles> group_files(const std::string& line, const fs::path& mounts) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos) return std::nullopt;
  const std::string controllers = line.substr(first + 1, second - first - 1);
  const std::string path = line.substr(std::min(line.size(), second + 2));
  const auto below = [&](const fs::path& top) {
    // Seen from inside a container the path may lead out of what is mounted.
    const fs::path group = path.empty() ? top : top / path;
    return fs::exists(group) ? group : top;
  };
  if (controllers.empty())
    return GroupFiles{below(mounts), mounts, "memory.max", "memory.current", "inactive_file"};
  if (("," + controllers + ",").find(",memory,") == std::string::npos) return std::nullopt;
  const fs::path top = mounts / "memory";
  return GroupFiles{below(top), top, "memory.limit_in_bytes", "memory.usage_in_bytes",
                    "total_inactive_file"};
}

}  // namespace

AvailableMemory available_memory(const fs::path& root) {
  const auto machine_kib = read_number(root / "proc/meminfo", "MemAvailable:");
  AvailableMemory memory{machine_kib ? *machine_kib * 1024 : kNoLimit, "the machine"};
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (const auto files = group_files(line, root / "sys/fs/cgroup")) tighten(memory, *files);
  }
  return memory;
}

}  // namespace ebbtide::tiers
