#include <gtest/gtest.h>

#include <thread>

#include "tiering/execute/progress.hpp"

namespace ebbtide::execute {
namespace {

TEST(Progress, DoesNotSleepForWhatIsThere) {
  Progress progress;
  progress.finish(Lane::kD2h, 3);
  EXPECT_TRUE(progress.await(Lane::kCompute, Lane::kD2h, 3));
  EXPECT_TRUE(progress.await(Lane::kCompute, Lane::kH2d, 0));
  EXPECT_EQ(progress.finished(Lane::kD2h), 3U);
}

TEST(Progress, WakesEveryLaneThatWaitsForTheSameTask) {
  Progress progress;
  int written = 0;
  PerLane<int> seen{};
  std::vector<std::thread> waiters;
  for (std::size_t i = 1; i < kLaneCount; ++i) {
    waiters.emplace_back([&, i] {
      if (progress.await(static_cast<Lane>(i), Lane::kCompute, 2)) seen[i] = written;
    });
  }
  progress.finish(Lane::kCompute, 1);
  written = 42;
  progress.finish(Lane::kCompute, 2);
  for (std::thread& waiter : waiters) waiter.join();
  for (std::size_t i = 1; i < kLaneCount; ++i) EXPECT_EQ(seen[i], 42) << i;
}

TEST(Progress, LosesNoWakeUpWhenTwoLanesTakeTurns) {
  Progress progress;
  constexpr std::uint32_t kTurns = 20000;
  std::uint32_t turns = 0;
  std::thread other([&] {
    for (std::uint32_t i = 1; i <= kTurns; ++i) {
      ASSERT_TRUE(progress.await(Lane::kD2h, Lane::kCompute, i));
      ++turns;
      progress.finish(Lane::kD2h, i);
    }
  });
  for (std::uint32_t i = 1; i <= kTurns; ++i) {
    ++turns;
    progress.finish(Lane::kCompute, i);
    ASSERT_TRUE(progress.await(Lane::kCompute, Lane::kD2h, i));
  }
  other.join();
  EXPECT_EQ(turns, 2 * kTurns);
}

TEST(Progress, AbortWakesALaneThatWaitsForWhatNeverComes) {
  Progress progress;
  bool reached = true;
  std::thread waiter([&] { reached = progress.await(Lane::kH2d, Lane::kCompute, 1); });
  progress.abort();
  waiter.join();
  EXPECT_FALSE(reached);
  EXPECT_FALSE(progress.await(Lane::kD2h, Lane::kCompute, 0)) << "nothing starts after an abort";
}

TEST(Progress, StartsOverAfterAReset) {
  Progress progress;
  progress.finish(Lane::kCompute, 5);
  progress.abort();
  progress.reset();
  EXPECT_FALSE(progress.aborted());
  EXPECT_EQ(progress.finished(Lane::kCompute), 0U);
  progress.finish(Lane::kCompute, 1);
  EXPECT_TRUE(progress.await(Lane::kD2h, Lane::kCompute, 1));
}

}  // namespace
}  // namespace ebbtide::execute
