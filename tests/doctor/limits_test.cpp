// Memory, io_uring and the limits of a process, on made-up machines.
#include <cerrno>

#include "tests/doctor/made_up_system.hpp"

namespace ebbtide::test {
namespace {

using doctor::Resource;
using doctor::Verdict;

TEST(DoctorMemory, FindsAContainerThatLeavesLess) {
  const MadeUpSystem system;
  expect_finding(only(check_memory(system)), Verdict::kGood, {"15.0 GiB", "the machine"});
  system.write("proc/self/cgroup", "0::/box\n");
  system.write("sys/fs/cgroup/box/memory.max", "4294967296\n");
  system.write("sys/fs/cgroup/box/memory.current", "0\n");
  expect_finding(only(check_memory(system)), Verdict::kCouldBeBetter,
                 {"4.00 GiB", "/box", "15.0 GiB", "--memory"});
  system.write("sys/fs/cgroup/box/memory.max", "104857600\n");
  expect_finding(only(check_memory(system)), Verdict::kInTheWay, {"100 MiB", "hardly any run"});
}

TEST(DoctorMemory, FindsAMachineThatIsFullOrSaysNothing) {
  const MadeUpSystem system;
  system.write("proc/meminfo", "MemAvailable: 1024 kB\n");
  expect_finding(only(check_memory(system)), Verdict::kInTheWay, {"1.00 MiB", "ps aux"});
  std::filesystem::remove(system.root() / "proc/meminfo");
  expect_finding(only(check_memory(system)), Verdict::kNotHere, {"--device-memory"});
}

TEST(DoctorHugePages, FindsThemSwitchedOff) {
  const MadeUpSystem system;
  expect_finding(check_huge_pages(system)[0], Verdict::kGood, {"enabled: madvise"});
  system.write("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  system.write("sys/kernel/mm/transparent_hugepage/shmem_enabled", "always advise [never] deny\n");
  expect_finding(check_huge_pages(system)[0], Verdict::kCouldBeBetter,
                 {"enabled: never", "shared memory, which arenas are not: never", "tee /sys"});
  std::filesystem::remove_all(system.root() / "sys/kernel");
  expect_finding(check_huge_pages(system)[0], Verdict::kNotHere, {"this kernel has none"});
}

TEST(DoctorHugePages, FindsAPoolThatNobodyUses) {
  const MadeUpSystem system;
  expect_finding(check_huge_pages(system)[1], Verdict::kGood, {"none are kept aside"});
  system.write("proc/meminfo", "HugePages_Free: 1024\nHugepagesize: 2048 kB\n");
  expect_finding(check_huge_pages(system)[1], Verdict::kCouldBeBetter,
                 {"2.00 GiB", "vm.nr_hugepages=0"});
}

TEST(DoctorLockedMemory, IsHeldAgainstTwiceTheHostArena) {
  MadeUpSystem system;
  const doctor::Needs needs{.nvme_paths = {}, .host_bytes = std::uint64_t{1} << 30};
  expect_finding(only(check_locked_memory(system, needs)), Verdict::kGood, {"unlimited"});
  system.limits[Resource::kLockedMemory] = std::uint64_t{2} << 30;
  expect_finding(only(check_locked_memory(system, needs)), Verdict::kGood, {"takes 2.00 GiB"});
  system.limits[Resource::kLockedMemory] -= 1;
  expect_finding(only(check_locked_memory(system, needs)), Verdict::kCouldBeBetter,
                 {"takes 2.00 GiB", "ulimit -l unlimited", "memlock=-1"});
  system.write("proc/self/status", "CapEff: 0000000000004000\n");
  expect_finding(only(check_locked_memory(system, needs)), Verdict::kGood, {"CAP_IPC_LOCK"});
}

TEST(DoctorIoUring, SaysWhoRefusesIt) {
  MadeUpSystem system;
  expect_finding(only(check_io_uring(system)), Verdict::kGood, {"works on Linux 6.1.0"});
  system.ring = EPERM;
  expect_finding(only(check_io_uring(system)), Verdict::kCouldBeBetter,
                 {"EPERM", "security policy", "SELinux"});
  system.write("proc/self/status", "Seccomp: 2\n");
  expect_finding(only(check_io_uring(system)), Verdict::kCouldBeBetter,
                 {"EPERM", "seccomp filter", "--security-opt"});
  system.write("proc/sys/kernel/io_uring_disabled", "2\n");
  expect_finding(only(check_io_uring(system)), Verdict::kCouldBeBetter,
                 {"io_uring_disabled is 2", "sysctl kernel.io_uring_disabled=0", "threads"});
  system.ring = ENOSYS;
  expect_finding(only(check_io_uring(system)), Verdict::kCouldBeBetter, {"ENOSYS", "Linux 5.6"});
  system.ring = ENOMEM;
  expect_finding(only(check_io_uring(system)), Verdict::kCouldBeBetter, {"ulimit -l unlimited"});
}

TEST(DoctorOpenFiles, FindsALimitBelowARuns) {
  MadeUpSystem system;
  const doctor::Needs needs{.nvme_paths = {"a", "b"}};
  system.limits[Resource::kOpenFiles] = 18;
  expect_finding(only(check_open_files(system, needs)), Verdict::kGood, {"18"});
  system.limits[Resource::kOpenFiles] = 17;
  expect_finding(only(check_open_files(system, needs)), Verdict::kInTheWay, {"17", "ulimit -n"});
}

TEST(DoctorThreads, FindsLimitsOfUserAndGroup) {
  MadeUpSystem system;
  expect_finding(only(check_threads(system)), Verdict::kGood, {"unlimited", "18"});
  system.limits[Resource::kThreads] = 17;
  expect_finding(only(check_threads(system)), Verdict::kInTheWay, {"17", "ulimit -u"});
  system.limits[Resource::kThreads] = 20;
  expect_finding(only(check_threads(system)), Verdict::kGood, {"20"});
  system.write("proc/77/status", "Name:\tothers\nUid:\t1001\t1001\t1001\t1001\nThreads:\t50\n");
  system.write("proc/78/status", "Name:\ta b\nUid:\t1000\t1000\t1000\t1000\nThreads:\t2\n");
  expect_finding(only(check_threads(system)), Verdict::kGood, {"20", "2 are taken"});
  system.write("proc/79/status", "Name:\tc\nUid:\t1000\t1000\t1000\t1000\nThreads:\t1\n");
  expect_finding(only(check_threads(system)), Verdict::kInTheWay, {"3 are taken", "ulimit -u"});
  system.limits.clear();
  system.write("proc/self/cgroup", "8:pids:/box\n");
  system.write("sys/fs/cgroup/pids/box/pids.max", "100\n");
  system.write("sys/fs/cgroup/pids/box/pids.current", "90\n");
  expect_finding(only(check_threads(system)), Verdict::kInTheWay,
                 {"/box leaves 10", "--pids-limit"});
  system.write("sys/fs/cgroup/pids/box/pids.current", "10\n");
  expect_finding(only(check_threads(system)), Verdict::kGood, {"leaves 90"});
}

TEST(DoctorSizes, FindsLimitsOnFilesAndAddresses) {
  MadeUpSystem system;
  expect_finding(only(check_sizes(system)), Verdict::kGood, {"unlimited"});
  system.limits[Resource::kFileSize] = 1 << 20;
  expect_finding(only(check_sizes(system)), Verdict::kCouldBeBetter,
                 {"1.00 MiB", "ulimit -f unlimited"});
  system.limits[Resource::kAddressSpace] = 1 << 30;
  expect_finding(only(check_sizes(system)), Verdict::kCouldBeBetter,
                 {"1.00 GiB", "ulimit -v unlimited"});
}

}  // namespace
}  // namespace ebbtide::test
