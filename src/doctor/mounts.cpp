#include "src/doctor/mounts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <system_error>

#include "src/doctor/system_files.hpp"

namespace ebbtide::doctor {
namespace {

namespace fs = std::filesystem;

bool is_above(const fs::path& point, const fs::path& path) {
  const auto [at, rest] = std::mismatch(point.begin(), point.end(), path.begin(), path.end());
  return at == point.end() || (at->empty() && std::next(at) == point.end());
}

// "36 35 98:0 / /mnt rw,noatime shared:1 - ext4 /dev/sda1 rw" (proc(5)).
Mount mount_in(const std::vector<std::string>& words) {
  constexpr std::size_t kPoint = 4;
  const auto dash = std::ranges::find(words, "-");
  if (words.size() <= kPoint || words.end() - dash < 3) return {};
  return {words[kPoint], dash[1], dash[2]};
}

// Of a mapped or joined device the first part, else of a partition the whole.
fs::path whole_drive(fs::path block) {
  for (int depth = 0; depth < 8; ++depth) {  // LVM on LUKS on RAID is three
    const std::vector<std::string> parts = names_in(block / "slaves");
    std::error_code code;
    if (!parts.empty()) {
      const fs::path part = fs::canonical(block / "slaves" / parts.front(), code);
      if (code) return block;
      block = part;
    } else if (fs::exists(block / "partition", code)) {
      block = block.parent_path();
    } else {
      return block;
    }
  }
  return block;
}

// Its folder in sysfs; empty where there is none.
fs::path block_of(std::uint64_t device, const Mount& mount, const fs::path& root) {
  std::error_code code;
  const std::string number = fmt::format("{}:{}", device >> 32, device & 0xFFFFFFFF);
  fs::path block = fs::canonical(root / "sys/dev/block" / number, code);
  if (!code) return block;
  if (!mount.source.starts_with("/dev/")) return {};
  const std::string name = fs::path(mount.source).filename().string();
  block = fs::canonical(root / "sys/class/block" / name, code);
  return code ? fs::path() : block;
}

}  // namespace

Mount mount_of(const fs::path& path, const fs::path& root) {
  Mount deepest;
  std::ifstream lines(root / "proc/self/mountinfo");
  for (std::string line; std::getline(lines, line);) {
    Mount mount = mount_in(words_of(line));
    if (mount.point.empty() || !is_above(mount.point, path)) continue;
    if (mount.point.size() >= deepest.point.size()) deepest = std::move(mount);
  }
  return deepest;
}

Drive drive_of(std::uint64_t device, const Mount& mount, const fs::path& root) {
  const fs::path block = block_of(device, mount, root);
  if (block.empty()) return {};
  const fs::path drive = whole_drive(block);
  const std::string name = drive.filename().string();
  if (name.starts_with("nvme")) return {name, DriveKind::kNvme};
  // A virtual drive says what its driver was told, which is often nothing (Linux: "rotational").
  if (name.starts_with("vd") || name.starts_with("xvd")) return {name, DriveKind::kUnknown};
  const auto rotational = first_line(drive / "queue/rotational");
  if (!rotational) return {name, DriveKind::kUnknown};
  return {name, *rotational == "1" ? DriveKind::kRotating : DriveKind::kSolidState};
}

}  // namespace ebbtide::doctor
