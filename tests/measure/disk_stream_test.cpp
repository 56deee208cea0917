// Streams of jobs over swap files: what they move, and how they end.
#include "src/measure/disk_stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "ebbtide/error.hpp"
#include "tests/temporary_directory.hpp"
#include "tiering/tiers/host_arena.hpp"

namespace ebbtide::measure {
namespace {

using tiers::IoDirection;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kFileBytes = 61 * kPage;  // no multiple of a job

class Streams : public testing::TestWithParam<JobOrder> {
 protected:
  DiskStream stream(std::span<std::byte> memory, std::uint64_t job_bytes = 2 * kPage) {
    return DiskStream(files_, {.engine = IoEngine::kThreads,
                               .job_bytes = job_bytes,
                               .block_bytes = kPage,
                               .depth = 2,
                               .memory = memory});
  }
  // Page p of the file as one byte.
  std::vector<std::byte> pages() {
    DiskStream one = stream(one_.bytes(), kFileBytes);
    one.run({.direction = IoDirection::kRead, .end = kFileBytes}, {});
    std::vector<std::byte> first;
    for (std::uint64_t at = 0; at < kFileBytes; at += kPage) first.push_back(one_.bytes()[at]);
    return first;
  }

  test::TemporaryDirectory directory_;
  tiers::SwapFiles files_{{.size_bytes = kFileBytes, .directories = {directory_.path()}}};
  tiers::HostArena some_{{.size_bytes = 6 * kPage}};
  tiers::HostArena one_{{.size_bytes = kFileBytes}};
};

TEST_P(Streams, MoveTheWholeRangeOnceAPass) {
  std::ranges::fill(some_.bytes(), std::byte{7});
  DiskStream writes = stream(some_.bytes());
  const DiskRun run = writes.run({.direction = IoDirection::kWrite,
                                  .order = GetParam(),
                                  .begin = 3 * kPage,
                                  .end = 58 * kPage,
                                  .passes = 2},
                                 {});
  EXPECT_EQ(run.moved_bytes, 2 * 55 * kPage);
  EXPECT_EQ(run.latencies.size(), 2 * 28U);
  EXPECT_GT(run.seconds, 0);
  const std::vector<std::byte> seen = pages();
  for (std::size_t page = 0; page < seen.size(); ++page)
    EXPECT_EQ(seen[page], page >= 3 && page < 58 ? std::byte{7} : std::byte{0}) << page;
}

TEST_P(Streams, MoveAtLeastOneJobWhateverTheTime) {
  DiskStream writes = stream(some_.bytes());
  const DiskRun run = writes.run(
      {.direction = IoDirection::kWrite, .order = GetParam(), .end = kFileBytes, .seconds = 0}, {});
  EXPECT_EQ(run.moved_bytes, 2 * kPage);
  EXPECT_EQ(run.latencies.size(), 1U);
}

TEST_P(Streams, EndWhenTheyAreStopped) {
  std::stop_source stop;
  stop.request_stop();
  DiskStream reads = stream(some_.bytes());
  EXPECT_THROW(reads.run({.order = GetParam(), .end = kFileBytes}, stop.get_token()), Error);
}

INSTANTIATE_TEST_SUITE_P(, Streams, testing::Values(JobOrder::kAscending, JobOrder::kScattered));

}  // namespace
}  // namespace ebbtide::measure
