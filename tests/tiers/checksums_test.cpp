#include "tiering/tiers/checksums.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "tests/tiers/queue_setting.hpp"

namespace ebbtide::tiers {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class ChecksumsTest : public testing::Test {
 protected:
  ChecksumsTest() : bytes_(64 * 4096) { fill_random(bytes_, 1); }
  // The pages [first, first + count) of a space whose bytes are bytes_.
  IoRequest pages(std::uint64_t first, std::uint64_t count) {
    return {first * 4096, bytes_.data() + first * 4096, count * 4096};
  }
  void record(const IoRequest& block) { checksums_.record(block); }

  std::vector<std::byte> bytes_;
  Checksums checksums_;
};

TEST_F(ChecksumsTest, SeeOneBitInABlock) {
  record(pages(3, 4));
  EXPECT_FALSE(checksums_.check(pages(3, 4)));
  bytes_[5 * 4096 + 17] ^= std::byte{4};
  const auto mismatch = checksums_.check(pages(3, 4));
  ASSERT_TRUE(mismatch);
  EXPECT_EQ(mismatch->offset, 3 * 4096);
  EXPECT_EQ(mismatch->size_bytes, 4 * 4096);
  EXPECT_EQ(mismatch->read_xxh3, Checksums::sum(pages(3, 4)));
  EXPECT_NE(mismatch->read_xxh3, mismatch->written_xxh3);
}

TEST_F(ChecksumsTest, CheckTheBlocksThatALargerReadCovers) {
  record(pages(2, 2));
  record(pages(6, 1));
  EXPECT_FALSE(checksums_.check(pages(0, 8)));
  EXPECT_EQ(checksums_.checked_bytes(), 3 * 4096);
  EXPECT_EQ(checksums_.unchecked_bytes(), 5 * 4096);
  bytes_[6 * 4096] ^= std::byte{1};
  EXPECT_EQ(checksums_.check(pages(0, 8))->offset, 6 * 4096);
}

TEST_F(ChecksumsTest, ForgetWhatIsOverwrittenInPart) {
  record(pages(0, 4));
  record(pages(4, 4));
  record(pages(3, 2));  // over the end of one and the start of the other
  bytes_[0] ^= std::byte{1};
  bytes_[7 * 4096] ^= std::byte{1};
  EXPECT_FALSE(checksums_.check(pages(0, 8)));
  EXPECT_EQ(checksums_.checked_bytes(), 2 * 4096);
  bytes_[4 * 4096] ^= std::byte{1};
  EXPECT_EQ(checksums_.check(pages(0, 8))->offset, 3 * 4096);
}

TEST_F(ChecksumsTest, KnowNothingOfWhatWasForgotten) {
  record(pages(0, 2));
  checksums_.forget(pages(1, 4));
  bytes_[0] ^= std::byte{1};
  EXPECT_FALSE(checksums_.check(pages(0, 2)));
}

// A home is written whole and read back part by part, and the other way round.
TEST_F(ChecksumsTest, CheckEveryPartOfALargeBlock) {
  constexpr std::uint64_t kParts = 5;
  bytes_.resize(kParts * kMiB + 8192);
  fill_random(bytes_, 3);
  const auto part = [&](std::uint64_t first) {
    const std::uint64_t begin = first * kMiB;
    return IoRequest{begin, bytes_.data() + begin,
                     std::min<std::uint64_t>(2 * kMiB, bytes_.size() - begin)};
  };
  record({0, bytes_.data(), bytes_.size()});
  for (std::uint64_t first = 0; first <= kParts; first += 2)
    EXPECT_FALSE(checksums_.check(part(first)));
  EXPECT_EQ(checksums_.checked_bytes(), bytes_.size());
  EXPECT_EQ(checksums_.unchecked_bytes(), 0U);
  bytes_[3 * kMiB + 9] ^= std::byte{1};
  EXPECT_FALSE(checksums_.check(part(0)));
  EXPECT_EQ(checksums_.check(part(2))->offset, 3 * kMiB);
  EXPECT_EQ(checksums_.check(part(2))->size_bytes, kMiB);
  for (std::uint64_t first = 0; first <= kParts; first += 2) record(part(first));
  EXPECT_FALSE(checksums_.check({0, bytes_.data(), bytes_.size()}));
  EXPECT_EQ(checksums_.unchecked_bytes(), 0U);
}

class CheckedQueues : public testing::TestWithParam<QueueSetting> {
 protected:
  void SetUp() override {
    if (GetParam().engine == IoEngine::kUring && uring_refused())
      GTEST_SKIP() << "io_uring is refused on this machine";
  }
};
INSTANTIATE_TEST_SUITE_P(Each, CheckedQueues,
                         testing::Values(QueueSetting{IoEngine::kUring, OffloadCheck::kChecksum},
                                         QueueSetting{IoEngine::kThreads, OffloadCheck::kChecksum}),
                         [](const auto& each) { return setting_name(each.param); });

TEST_P(CheckedQueues, EndAReadOfSpoiltBytesWithOffsetAndBothSums) {
  QueueBench bench(GetParam(), kMiB, {.direct = DirectIo::kNever});
  fill_random(bench.source(), 2);
  for (JobId job = 0; job < 4; ++job)
    ASSERT_FALSE(bench.transfer(job, IoDirection::kWrite, job * 65536, 65536).error);
  const std::byte other = bench.source()[2 * 65536 + 5] ^ std::byte{8};
  ASSERT_EQ(::pwrite(bench.files().descriptor(0), &other, 1, 2 * 65536 + 5), 1);
  for (JobId job = 0; job < 4; ++job) {
    const IoResult result = bench.transfer(10 + job, IoDirection::kRead, job * 65536, 65536);
    if (job != 2) {
      EXPECT_FALSE(result.error);
      continue;
    }
    EXPECT_EQ(result.error, make_error_code(Errc::kCorrupted));
    EXPECT_EQ(result.offset, 2 * 65536);
    const auto was = Checksums::sum({0, bench.source().data() + 2 * 65536, 65536});
    const auto is = Checksums::sum({0, bench.target().data() + 2 * 65536, 65536});
    const std::string text = io_error(IoDirection::kRead, result).what();
    EXPECT_NE(text.find(fmt::format("{:016x}", was)), std::string::npos) << text;
    EXPECT_NE(text.find(fmt::format("{:016x}", is)), std::string::npos) << text;
    EXPECT_NE(text.find("corrupted"), std::string::npos) << text;
  }
}

// Memory that changes while it is being written (a broken invariant 1) is seen when it comes back.
TEST_P(CheckedQueues, SeeMemoryThatWasChangedInFlight) {
  std::byte* victim = nullptr;
  RecordedFaults change([&](const KernelTransfer& transfer, std::size_t) {
    if (transfer.direction == IoDirection::kWrite) *victim ^= std::byte{1};
    return IoFault{};
  });
  QueueBench bench(GetParam(), kMiB, {}, &change);
  victim = bench.source().data() + 100;
  ASSERT_FALSE(bench.transfer(1, IoDirection::kWrite, 0, 65536).error);
  EXPECT_EQ(bench.transfer(2, IoDirection::kRead, 0, 65536).error,
            make_error_code(Errc::kCorrupted));
}

// A write that has failed says nothing about what the disk now holds.
TEST_P(CheckedQueues, ForgetWhatCouldNotBeWritten) {
  bool fails = false;
  RecordedFaults fail([&](const KernelTransfer& transfer, std::size_t) {
    IoFault fault;
    if (fails && transfer.direction == IoDirection::kWrite) fault.error = EIO;
    return fault;
  });
  QueueBench bench(GetParam(), kMiB, {}, &fail);
  fill_random(bench.source(), 4);
  ASSERT_FALSE(bench.transfer(1, IoDirection::kWrite, 0, 65536).error);
  fails = true;
  bench.source()[7] ^= std::byte{1};
  EXPECT_TRUE(bench.transfer(2, IoDirection::kWrite, 0, 65536).error);
  EXPECT_FALSE(bench.transfer(3, IoDirection::kRead, 0, 65536).error);
}

}  // namespace
}  // namespace ebbtide::tiers
