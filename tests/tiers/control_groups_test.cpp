#include "tiering/tiers/control_groups.hpp"

#include <gtest/gtest.h>

#include "tests/temporary_directory.hpp"

namespace ebbtide::tiers {
namespace {

class ControlGroups : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    const auto path = root_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  test::TemporaryDirectory root_{test::Medium::kMemory};
};

TEST_F(ControlGroups, LimitCpuTimeByTheTightest) {
  write("proc/self/cgroup", "0::/outer/inner\n");
  EXPECT_FALSE(cpu_quota(root_.path()));
  write("sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/outer/inner/cpu.max", "300000 100000\n");
  const auto quota = cpu_quota(root_.path());
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->cpus, 1.5);
  EXPECT_TRUE(quota->limited_by.ends_with("/outer")) << quota->limited_by;
}

TEST_F(ControlGroups, OfTheFirstVersionWriteMinusOneForNoQuota) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/job\n");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(cpu_quota(root_.path()));
  write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
  ASSERT_TRUE(cpu_quota(root_.path()));
  EXPECT_EQ(cpu_quota(root_.path())->cpus, 0.5);
}

TEST_F(ControlGroups, SayHowManyThreadsAreLeft) {
  write("proc/self/cgroup", "0::/job\n");
  write("sys/fs/cgroup/job/pids.max", "max\n");
  write("sys/fs/cgroup/job/pids.current", "7\n");
  EXPECT_FALSE(threads_left(root_.path()));
  write("sys/fs/cgroup/job/pids.max", "5\n");
  ASSERT_TRUE(threads_left(root_.path()));
  EXPECT_EQ(threads_left(root_.path())->count, 0);
}

}  // namespace
}  // namespace ebbtide::tiers
