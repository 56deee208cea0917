// Directories for swap files, on made-up machines.
#include <cerrno>

#include "src/doctor/mounts.hpp"
#include "tests/doctor/made_up_system.hpp"

namespace ebbtide::test {
namespace {

using doctor::Finding;
using doctor::Verdict;

const doctor::Needs kNeeds{.nvme_paths = {"swap"}};

constexpr std::uint64_t device(std::uint64_t major, std::uint64_t minor) {
  return major << 32 | minor;
}

// The drive of the made-up machine.
void add_drive(MadeUpSystem& system) {
  system.link("sys/dev/block/259:1", "sys/devices/pci/nvme/nvme0n1/nvme0n1p1");
  system.write("sys/devices/pci/nvme/nvme0n1/nvme0n1p1/partition", "1\n");
  system.write("sys/devices/pci/nvme/nvme0n1/queue/rotational", "0\n");
  system.directory_probe.device = device(259, 1);
}

Finding finding(const MadeUpSystem& system, const std::string& check) {
  for (const Finding& each : check_nvme_paths(system, kNeeds))
    if (each.check == check) return each;
  ADD_FAILURE() << "no finding of " << check;
  return {};
}

Finding on_file_system(const std::string& kind) {
  const MadeUpSystem system;
  system.write("proc/self/mountinfo", "30 27 0:1 / /mnt rw - " + kind + " none rw\n");
  return finding(system, "nvme_path");
}

TEST(DoctorNvmePath, IsNotHereUnlessGiven) {
  expect_finding(only(check_nvme_paths(MadeUpSystem(), {})), Verdict::kNotHere, {"--nvme-path"});
}

TEST(DoctorNvmePath, LikesALocalNvmeDrive) {
  MadeUpSystem system;
  add_drive(system);
  expect_finding(finding(system, "nvme_path"), Verdict::kGood,
                 {"NVMe path swap", "xfs on nvme0n1", "local NVMe drive"});
}

TEST(DoctorNvmePath, KnowsFileSystemsThatAreNoDrive) {
  expect_finding(on_file_system("tmpfs"), Verdict::kInTheWay, {"tmpfs", "DRAM"});
  expect_finding(on_file_system("nfs4"), Verdict::kCouldBeBetter, {"network"});
  expect_finding(on_file_system("fuse.sshfs"), Verdict::kCouldBeBetter, {"user-space"});
  expect_finding(on_file_system("overlay"), Verdict::kCouldBeBetter, {"volume"});
  expect_finding(on_file_system("btrfs"), Verdict::kCouldBeBetter, {"fragment", "chattr +C"});
  expect_finding(on_file_system("xfs"), Verdict::kGood, {"ebbtide bench"});
}

TEST(DoctorNvmePath, FindsARotatingDisk) {
  MadeUpSystem system;
  system.directory_probe.path = "/home";
  system.link("sys/dev/block/8:1", "sys/devices/ata/sda/sda1");
  system.write("sys/devices/ata/sda/sda1/partition", "1\n");
  system.write("sys/devices/ata/sda/queue/rotational", "1\n");
  system.directory_probe.device = device(8, 1);
  expect_finding(finding(system, "nvme_path"), Verdict::kCouldBeBetter,
                 {"ext4 on sda", "rotating"});
  system.write("sys/devices/ata/sda/queue/rotational", "0\n");
  expect_finding(finding(system, "nvme_path"), Verdict::kGood, {"ext4 on sda"});
}

TEST(DoctorNvmePath, SaysWhatToTypeWhereNoFileCanBeMade) {
  MadeUpSystem system;
  for (const auto& [error, remedy] :
       {std::pair(ENOENT, "mkdir -p swap"), std::pair(EACCES, "chown"),
        std::pair(ENOSPC, "free space")}) {
    system.directory_probe = {.error = error, .why_not = "cannot make it"};
    expect_finding(only(check_nvme_paths(system, kNeeds)), Verdict::kInTheWay,
                   {"cannot make it", remedy});
  }
}

TEST(DoctorDirectIo, SaysWhyItWasRefused) {
  MadeUpSystem system;
  expect_finding(finding(system, "o_direct"), Verdict::kGood, {"aligned to 512 bytes"});
  system.directory_probe.is_direct = false;
  system.directory_probe.warnings = {"swap files: O_DIRECT was refused in x: EINVAL"};
  expect_finding(finding(system, "o_direct"), Verdict::kCouldBeBetter, {"EINVAL", "page cache"});
}

TEST(DoctorFreeSpace, FindsADriveThatIsNearlyFull) {
  MadeUpSystem system;
  expect_finding(finding(system, "free_space"), Verdict::kGood, {"500 GiB of 1000 GiB"});
  system.directory_probe.free_bytes = std::uint64_t{99} << 30;
  expect_finding(finding(system, "free_space"), Verdict::kCouldBeBetter, {"nearly full"});
  system.directory_probe.free_bytes = 1 << 20;
  expect_finding(finding(system, "free_space"), Verdict::kInTheWay, {"1.00 MiB", "du -xh"});
  system.directory_probe.total_bytes = 0;
  expect_finding(finding(system, "free_space"), Verdict::kCouldBeBetter, {"--nvme-memory"});
}

TEST(Mounts, AreTheDeepestAboveAPath) {
  const MadeUpSystem system;
  EXPECT_EQ(doctor::mount_of("/mnt/nvme/swap", system.root()).kind, "xfs");
  EXPECT_EQ(doctor::mount_of("/mnt/nvme", system.root()).source, "/dev/nvme0n1p1");
  EXPECT_EQ(doctor::mount_of("/mnt/nvme2", system.root()).kind, "ext4");
  system.write("proc/self/mountinfo", "1 1 0:1 / /a rw - xfs x rw\n2 1 0:2 / /a rw - nfs y rw\n");
  EXPECT_EQ(doctor::mount_of("/a/b", system.root()).kind, "nfs");
  EXPECT_EQ(doctor::mount_of("/b", system.root()).kind, "");
}

TEST(Mounts, FindTheDriveBelowMappedDevicesAndFromTheSource) {
  MadeUpSystem system;
  add_drive(system);
  system.link("sys/dev/block/253:0", "sys/devices/virtual/block/dm-0");
  system.link("sys/devices/virtual/block/dm-0/slaves/nvme0n1p1",
              "sys/devices/pci/nvme/nvme0n1/nvme0n1p1");
  EXPECT_EQ(doctor::drive_of(device(253, 0), {}, system.root()).name, "nvme0n1");
  system.link("sys/class/block/nvme0n1p1", "sys/devices/pci/nvme/nvme0n1/nvme0n1p1");
  const doctor::Mount mount{"/", "btrfs", "/dev/nvme0n1p1"};
  EXPECT_EQ(doctor::drive_of(device(0, 40), mount, system.root()).kind, doctor::DriveKind::kNvme);
  EXPECT_EQ(doctor::drive_of(device(0, 40), {}, system.root()).name, "");
}

}  // namespace
}  // namespace ebbtide::test
