// Which file system a path is on, and on which drive.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ebbtide::doctor {

struct Mount {
  std::string point;   // "/mnt/nvme"; empty: not known
  std::string kind;    // "ext4"
  std::string source;  // "/dev/nvme0n1p1"
};

// Of an absolute path: the deepest mount above it, of those at one point the last.
Mount mount_of(const std::filesystem::path& path, const std::filesystem::path& root);

enum class DriveKind : std::uint8_t { kUnknown, kNvme, kSolidState, kRotating };
struct Drive {
  std::string name;  // "nvme0n1"; empty: not known
  DriveKind kind = DriveKind::kUnknown;
};

// The drive below a file system's device (major << 32 | minor), or else below its mount's source:
// of a partition the whole drive, of a mapped or joined device the first of its parts.
Drive drive_of(std::uint64_t device, const Mount& mount, const std::filesystem::path& root);

}  // namespace ebbtide::doctor
