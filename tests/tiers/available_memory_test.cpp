#include "tiering/tiers/available_memory.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/temporary_directory.hpp"

namespace ebbtide::tiers {
namespace {

class AvailableMemoryTest : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    const auto path = root_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void SetUp() override {
    write("proc/meminfo", "MemTotal: 900 kB\nMemFree: 100 kB\nMemAvailable: 800 kB\n");
  }
  AvailableMemory available() const { return available_memory(root_.path()); }

  test::TemporaryDirectory root_{test::Medium::kMemory};
};

TEST_F(AvailableMemoryTest, IsTheMachinesWithoutAControlGroup) {
  EXPECT_EQ(available().size_bytes, 800 * 1024);
  EXPECT_EQ(available().limited_by, "the machine");
}

TEST_F(AvailableMemoryTest, IsWhatTheTightestGroupAboveHasLeft) {
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/memory.max", "500000\n");
  write("sys/fs/cgroup/outer/memory.current", "200000\n");
  write("sys/fs/cgroup/outer/memory.stat", "anon 1\nactive_file 7\ninactive_file 50000\n");
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write("sys/fs/cgroup/outer/inner/memory.current", "100\n");
  EXPECT_EQ(available().size_bytes, 350000);
  EXPECT_NE(available().limited_by.find("/outer"), std::string::npos);
  EXPECT_EQ(available().limited_by.find("inner"), std::string::npos);
}

TEST_F(AvailableMemoryTest, CountsTheLimitSeenFromInsideAContainer) {
  write("proc/self/cgroup", "0::/../../other/place\n");
  write("sys/fs/cgroup/memory.max", "4096\n");
  write("sys/fs/cgroup/memory.current", "8192\n");
  EXPECT_EQ(available().size_bytes, 0);
}

TEST_F(AvailableMemoryTest, KnowsTheFirstVersionOfControlGroups) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/job\n0::/\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "300000\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "100000\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "100000\n");
  EXPECT_EQ(available().size_bytes, 200000);
}

TEST_F(AvailableMemoryTest, SeesThisMachine) {
  const AvailableMemory memory = available_memory();
  EXPECT_GT(memory.size_bytes, std::uint64_t{1} << 20);
  EXPECT_LT(memory.size_bytes, std::uint64_t{1} << 50);
}

}  // namespace
}  // namespace ebbtide::tiers
