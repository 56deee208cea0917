#include "tiering/tiers/transfer.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace ebbtide::tiers {
namespace {

Transfer of_bytes(std::uint64_t size_bytes) {
  Transfer transfer;
  transfer.whole.offset = 40960;
  transfer.whole.size_bytes = size_bytes;
  return transfer;
}

TEST(Transfer, IsDoneWhenAllHasMoved) {
  Transfer transfer = of_bytes(8192);
  EXPECT_EQ(advance(transfer, 8192, 4096).next, Next::kDone);
  EXPECT_EQ(transfer.done_bytes, 8192);
}

TEST(Transfer, AsksForTheRestFromAnAlignedPlace) {
  Transfer transfer = of_bytes(16384);
  EXPECT_EQ(advance(transfer, 5000, 4096).next, Next::kAgain);
  EXPECT_EQ(transfer.rest().offset, 40960 + 4096);
  EXPECT_EQ(transfer.rest().size_bytes, 12288);
  EXPECT_EQ(advance(transfer, 1024, 512).next, Next::kAgain);
  EXPECT_EQ(transfer.rest().offset, 40960 + 5120);
  EXPECT_EQ(advance(transfer, 11264, 512).next, Next::kDone);
}

TEST(Transfer, KeepsEveryByteWithoutAlignment) {
  Transfer transfer = of_bytes(8192);
  EXPECT_EQ(advance(transfer, 5001, 1).next, Next::kAgain);
  EXPECT_EQ(transfer.rest().size_bytes, 3191);
}

TEST(Transfer, FailsAtOnceWithNothingMoved) {
  for (const IoDirection direction : {IoDirection::kRead, IoDirection::kWrite}) {
    Transfer transfer = of_bytes(8192);
    transfer.whole.direction = direction;
    const Outcome outcome = advance(transfer, 0, 4096);
    EXPECT_EQ(outcome.next, Next::kFailed);
    EXPECT_EQ(outcome.error, EIO);
  }
}

TEST(Transfer, FailsWithTheErrnoOfTheKernel) {
  Transfer transfer = of_bytes(8192);
  const Outcome outcome = advance(transfer, -ENOSPC, 4096);
  EXPECT_EQ(outcome.next, Next::kFailed);
  EXPECT_EQ(outcome.error, ENOSPC);
}

TEST(Transfer, IsTriedAgainButNotForEver) {
  for (const std::int64_t answer : {-EINTR, -EAGAIN, 100}) {
    Transfer transfer = of_bytes(8192);
    int attempts = 1;
    while (advance(transfer, answer, 4096).next == Next::kAgain) ASSERT_LT(++attempts, 1000);
    EXPECT_GT(attempts, 10);
    EXPECT_EQ(transfer.done_bytes, 0);
  }
}

TEST(Transfer, MayBeInterruptedOftenAsLongAsItMoves) {
  Transfer transfer = of_bytes(4096 * 1000);
  for (int page = 0; page < 999; ++page) {
    ASSERT_EQ(advance(transfer, -EINTR, 4096).next, Next::kAgain);
    ASSERT_EQ(advance(transfer, 4096, 4096).next, Next::kAgain);
  }
  EXPECT_EQ(advance(transfer, 4096, 4096).next, Next::kDone);
}

}  // namespace
}  // namespace ebbtide::tiers
