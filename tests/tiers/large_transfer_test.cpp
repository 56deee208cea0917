// The ceilings of 1 GiB a registered buffer and 2 GiB - 4096 a transfer (docs/faults.md F7).

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/tiers/queue_setting.hpp"
#include "tiering/tiers/job_book.hpp"

namespace ebbtide::tiers {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

class LargeTransfer : public testing::TestWithParam<IoEngine> {
 protected:
  void SetUp() override {
    if (GetParam() == IoEngine::kUring && uring_refused())
      GTEST_SKIP() << "io_uring is refused on this machine";
  }
};
INSTANTIATE_TEST_SUITE_P(Each, LargeTransfer, testing::Values(IoEngine::kUring, IoEngine::kThreads),
                         [](const auto& each) {
                           return each.param == IoEngine::kUring ? "Uring" : "Threads";
                         });

TEST_P(LargeTransfer, CrossesTheEndOfARegisteredBuffer) {
  TemporaryDirectory directory;
  SwapFiles files({.size_bytes = 16 * kMiB, .directories = {directory.path()}});
  HostArena arena({.size_bytes = kGiB + 32 * kMiB});
  RecordedFaults record;
  Completions completions;
  auto queue = make_io_queue(
      GetParam(), files, {.block_bytes = 4 * kMiB, .registered = arena.bytes(), .faults = &record},
      completions.callback());
  EXPECT_TRUE(queue->warnings().empty());
  const auto source = arena.bytes().subspan(kGiB - 7 * kMiB, 16 * kMiB);
  const auto target = arena.bytes().first(16 * kMiB);
  fill_random(source, 1);
  const IoRequest write{0, source.data(), source.size()};
  const IoRequest read{0, target.data(), target.size()};
  queue->submit(1, IoDirection::kWrite, {&write, 1});
  queue->drain();
  queue->submit(2, IoDirection::kRead, {&read, 1});
  queue->drain();
  EXPECT_EQ(completions.failures(), 0);
  EXPECT_TRUE(equal(source, target));
  const auto buffer = [&](const std::byte* at) {
    return static_cast<std::uint64_t>(at - arena.bytes().data()) / kRegisteredBufferBytes;
  };
  for (const KernelTransfer& transfer : record.transfers())
    EXPECT_EQ(buffer(transfer.memory), buffer(transfer.memory + transfer.size_bytes - 1));
}

TEST_P(LargeTransfer, MovesMoreThanTwoGibibytesInOneRequest) {
  if (!std::getenv("EBBTIDE_NIGHTLY"))
    GTEST_SKIP() << "takes 2 GiB of memory and of disk; set EBBTIDE_NIGHTLY=1 to run it";
  constexpr std::uint64_t kSizeBytes = 2 * kGiB + 4096;
  TemporaryDirectory directory;
  SwapFiles files({.size_bytes = kSizeBytes, .directories = {directory.path()}});
  HostArena arena({.size_bytes = kSizeBytes});
  Completions completions;
  auto queue =
      make_io_queue(GetParam(), files, {.block_bytes = 4 * kGiB, .registered = arena.bytes()},
                    completions.callback());
  fill_random(arena.bytes(), 2);
  const auto sum = Checksums::sum({0, arena.bytes().data(), kSizeBytes});
  const IoRequest all{0, arena.bytes().data(), kSizeBytes};
  queue->submit(1, IoDirection::kWrite, {&all, 1});
  queue->drain();
  std::ranges::fill(arena.bytes(), std::byte{0});
  queue->submit(2, IoDirection::kRead, {&all, 1});
  queue->drain();
  EXPECT_EQ(completions.failures(), 0);
  EXPECT_EQ(Checksums::sum(all), sum);
}

}  // namespace
}  // namespace ebbtide::tiers
