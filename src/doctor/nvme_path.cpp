// Directories for swap files: whether files can be made there, on what, with O_DIRECT, with room.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/doctor/checks.hpp"
#include "src/doctor/mounts.hpp"
#include "src/report/units.hpp"

namespace ebbtide::doctor {
namespace {

using report::bytes_text;

// Less is hardly worth a second tier.
constexpr std::uint64_t kLeastFreeBytes = std::uint64_t{1} << 30;
// Drives slow down, and wear more, as their last free blocks are used.
constexpr double kLeastFreePart = 0.1;

constexpr std::array kInMemory{"tmpfs", "ramfs"};
constexpr std::array kNetworks{"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "lustre", "virtiofs"};
constexpr std::array kCopying{"btrfs", "zfs", "bcachefs"};

template <std::size_t N>
bool is_one_of(const std::array<const char*, N>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

struct Judgement {
  Verdict verdict = Verdict::kGood;
  std::string meaning;
  std::string remedy;
};

Judgement judge(const Mount& mount, const Drive& drive) {
  const std::string elsewhere = "name a directory on a local NVMe drive with --nvme-path";
  if (is_one_of(kInMemory, mount.kind))
    return {Verdict::kInTheWay, "what goes there stays in DRAM: it spares none", elsewhere};
  if (is_one_of(kNetworks, mount.kind) || mount.kind.starts_with("fuse"))
    return {Verdict::kCouldBeBetter, "a network or user-space file system: every byte passes it",
            elsewhere};
  if (mount.kind == "overlay")
    return {Verdict::kCouldBeBetter,
            "a container's own layer: slower than a volume, and it may be small",
            "mount a volume (Docker: -v /mnt/nvme:/swap) and give --nvme-path /swap"};
  if (is_one_of(kCopying, mount.kind))
    return {Verdict::kCouldBeBetter,
            "it writes every block to a new place: files fragment as they are rewritten, each step",
            "use ext4 or xfs; or chattr +C the directory (btrfs)"};
  if (drive.kind == DriveKind::kRotating)
    return {Verdict::kCouldBeBetter, "a rotating disk: some hundred times slower on small blocks",
            elsewhere};
  if (drive.kind == DriveKind::kNvme)
    return {Verdict::kGood, "a local NVMe drive, as the lower tier wants", ""};
  return {Verdict::kGood,
          "swap files can be made there; ebbtide bench --nvme-path measures how fast", ""};
}

std::string place_text(const Mount& mount, const Drive& drive) {
  std::string text = mount.kind.empty() ? "a file system of unknown kind" : mount.kind;
  if (!drive.name.empty()) text += fmt::format(" on {}", drive.name);
  return text;
}

Finding place(const std::string& path, const DirectoryProbe& probe, const System& system) {
  const Mount mount = mount_of(probe.path, system.root());
  const Drive drive = drive_of(probe.device, mount, system.root());
  const Judgement judgement = judge(mount, drive);
  return {"nvme_path",       fmt::format("NVMe path {}", path),
          judgement.verdict, place_text(mount, drive),
          judgement.meaning, judgement.remedy};
}

Finding no_file(const std::string& path, const DirectoryProbe& probe) {
  return {"nvme_path",
          fmt::format("NVMe path {}", path),
          Verdict::kInTheWay,
          probe.why_not,
          "no swap file can be made there: train refuses this --nvme-path",
          probe.error == ENOENT                           ? fmt::format("mkdir -p {}", path)
          : probe.error == EACCES || probe.error == EPERM ? fmt::format("sudo chown $USER {}", path)
          : probe.error == ENOSPC ? fmt::format("free space there: du -xh {} | sort -h", path)
                                  : "name another directory"};
}

Finding direct(const std::string& path, const DirectoryProbe& probe) {
  const std::string subject = fmt::format("O_DIRECT in {}", path);
  if (probe.is_direct)
    return {"o_direct", subject, Verdict::kGood,
            fmt::format("taken, aligned to {} bytes", probe.alignment),
            "transfers bypass the page cache; blocks are aligned to 4096 bytes"};
  std::string why;
  for (const std::string& warning : probe.warnings)
    if (warning.find("O_DIRECT") != std::string::npos) why = warning;
  return {"o_direct",
          subject,
          Verdict::kCouldBeBetter,
          why.empty() ? "refused" : why,
          "bytes pass the page cache: they are copied once more and take memory twice",
          "use ext4 or xfs on a local drive"};
}

Finding room(const std::string& path, const DirectoryProbe& probe) {
  Finding finding{
      "free_space", fmt::format("free space in {}", path), Verdict::kGood,
      fmt::format("{} of {}", bytes_text(probe.free_bytes), bytes_text(probe.total_bytes)),
      "--nvme-memory that is not given takes it all but a twentieth, shared with other "
      "paths on the same file system"};
  if (probe.total_bytes == 0) {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.found = "the file system does not say";
    finding.meaning = "a budget cannot be made from it";
    finding.remedy = "give --nvme-memory";
    return finding;
  }
  const double part =
      static_cast<double>(probe.free_bytes) / static_cast<double>(probe.total_bytes);
  if (part < kLeastFreePart) {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.meaning = "a drive that is nearly full writes more slowly and wears faster";
  }
  if (probe.free_bytes < kLeastFreeBytes) {
    finding.verdict = Verdict::kInTheWay;
    finding.meaning = "hardly anything can leave to NVMe";
  }
  if (finding.verdict != Verdict::kGood)
    finding.remedy = fmt::format("free space there: sudo du -xh {} | sort -h | tail", path);
  return finding;
}

}  // namespace

Findings check_nvme_paths(const System& system, const Needs& needs) {
  if (needs.nvme_paths.empty())
    return {{"nvme_path", "NVMe paths", Verdict::kNotHere, "none given",
             "the NVMe tier is off without --nvme-path",
             "ebbtide doctor --nvme-path DIR looks at a directory"}};
  Findings findings;
  for (const std::filesystem::path& path : needs.nvme_paths) {
    const DirectoryProbe probe = system.directory(path);
    const std::string text = path.string();
    if (probe.error != 0) {
      findings.push_back(no_file(text, probe));
      continue;
    }
    findings.push_back(place(text, probe, system));
    findings.push_back(direct(text, probe));
    findings.push_back(room(text, probe));
  }
  return findings;
}

}  // namespace ebbtide::doctor
