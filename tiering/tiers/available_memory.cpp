#include "tiering/tiers/available_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "tiering/tiers/control_groups.hpp"

namespace ebbtide::tiers {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

struct GroupFiles {
  const char* limit;
  const char* used;
  const char* reclaimable;  // key in memory.stat: cache that goes before anything is killed
};
constexpr GroupFiles kVersionOne{"memory.limit_in_bytes", "memory.usage_in_bytes",
                                 "total_inactive_file"};
constexpr GroupFiles kVersionTwo{"memory.max", "memory.current", "inactive_file"};

// What the group has left; nothing where it sets no limit.
std::optional<std::uint64_t> left_in(const ControlGroup& group) {
  const GroupFiles& files =
      group.version == ControlGroup::Version::kOne ? kVersionOne : kVersionTwo;
  const auto limit = number_in(group.directory / files.limit);
  const auto used = number_in(group.directory / files.used);
  if (!limit || !used) return std::nullopt;
  const std::uint64_t cache =
      std::min(*used, number_in(group.directory / "memory.stat", files.reclaimable).value_or(0));
  const std::uint64_t held = *used - cache;
  return *limit > held ? *limit - held : 0;
}

}  // namespace

AvailableMemory available_memory(const fs::path& root) {
  const auto machine_kib = number_in(root / "proc/meminfo", "MemAvailable:");
  AvailableMemory memory{machine_kib ? *machine_kib * 1024 : kNoLimit, "the machine"};
  for (const ControlGroup& group : control_groups("memory", root)) {
    const std::optional<std::uint64_t> left = left_in(group);
    if (left && *left < memory.size_bytes)
      memory = {*left, fmt::format("the control group {}", group.directory.string())};
  }
  return memory;
}

}  // namespace ebbtide::tiers
