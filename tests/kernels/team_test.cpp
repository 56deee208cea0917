#include "kernels/cpu/team.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "ebbtide/error.hpp"

namespace ebbtide::kernels::cpu {
namespace {

TEST(Team, RunsEveryBlockOnce) {
  for (int threads = 1; threads <= 4; ++threads) {
    Team team(threads);
    for (int round = 0; round < 300; ++round) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(round));
      team.for_each_block(round, [&](std::int64_t i, int member) {
        EXPECT_TRUE(member >= 0 && member < threads);
        ++runs[static_cast<std::size_t>(i)];
      });
      for (const auto& count : runs) EXPECT_EQ(count, 1);
    }
  }
}

TEST(Team, GivesEachMemberItsOwnScratch) {
  Team team(3);
  std::atomic<int> wrong{0};
  team.for_each_block(200, [&](std::int64_t i, int member) {
    const std::span<std::int64_t> scratch = team.scratch<std::int64_t>(member);
    for (std::int64_t& x : scratch) x = i;
    for (const std::int64_t x : scratch) wrong += x == i ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0);
}

// A block may wait for one of lower index: the first waits here for nothing, each other for the
// one before.
TEST(Team, BeginsBlocksInAscendingOrder) {
  Team team(4);
  std::vector<std::atomic<int>> done(500);
  team.for_each_block(500, [&](std::int64_t i, int) {
    if (i > 0) done[static_cast<std::size_t>(i - 1)].wait(0);
    done[static_cast<std::size_t>(i)] = 1;
    done[static_cast<std::size_t>(i)].notify_all();
  });
  EXPECT_EQ(done.back(), 1);
}

TEST(Team, ThrowsWhatABlockThrewAndGoesOn) {
  Team team(2);
  const auto fail = [](std::int64_t i, int) {
    if (i == 7) throw std::runtime_error("block 7");
  };
  EXPECT_THROW(team.for_each_block(20, fail), std::runtime_error);
  std::atomic<int> runs{0};
  team.for_each_block(20, [&](std::int64_t, int) { ++runs; });
  EXPECT_EQ(runs, 20);
}

TEST(Team, RefusesNoThreads) {
  EXPECT_THROW(Team(0), ContractViolation);
}

}  // namespace
}  // namespace ebbtide::kernels::cpu
