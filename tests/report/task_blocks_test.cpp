// What is merged for drawing keeps its sums.
#include "src/report/task_blocks.hpp"

#include <gtest/gtest.h>

#include "tests/report/small_step.hpp"

namespace ebbtide::report {
namespace {

struct Sums {
  double busy_s = 0;
  double flops = 0;
  double waited_s = 0;
  std::uint64_t tasks = 0;
  std::uint64_t bytes = 0;
};

Sums sums_of(const std::vector<Block>& blocks) {
  Sums sums;
  for (const Block& block : blocks) {
    sums.busy_s += block.busy_s;
    sums.flops += block.flops;
    sums.waited_s += block.waited_s;
    sums.tasks += block.tasks;
    sums.bytes += block.bytes;
  }
  return sums;
}

void expect_same(const Sums& a, const Sums& b) {
  EXPECT_NEAR(a.busy_s, b.busy_s, 1e-9 * b.busy_s);
  EXPECT_NEAR(a.flops, b.flops, 1e-9 * b.flops);
  EXPECT_NEAR(a.waited_s, b.waited_s, 1e-9 * b.waited_s);
  EXPECT_EQ(a.tasks, b.tasks);
  EXPECT_EQ(a.bytes, b.bytes);
}

const std::array kLanes{Lane::kCompute, Lane::kD2h, Lane::kH2d, Lane::kHostCompute};

TEST(TaskBlocks, HoldWhatTimelineAndPlanSay) {
  const SmallStep small;
  for (const Lane lane : kLanes) {
    const Sums sums = sums_of(tasks_of(small.record, lane));
    double busy_s = 0;
    std::uint64_t tasks = 0;
    std::uint64_t moved = 0;
    for (const ProgramRun& run : small.record.runs) {
      busy_s += run.timeline.busy_seconds(lane);
      tasks += run.plan->tasks[index(lane)].size();
      moved += run.plan->moved_bytes[index(lane)];
    }
    EXPECT_NEAR(sums.busy_s, busy_s, 1e-9) << name(lane);
    EXPECT_EQ(sums.tasks, tasks) << name(lane);
    if (is_transfer(lane)) {
      EXPECT_EQ(sums.bytes, moved) << name(lane);
    }
  }
}

TEST(TaskBlocks, KeepTheirSumsInEveryLevel) {
  const SmallStep small(16);
  for (const Lane lane : kLanes) {
    const std::vector<Block> tasks = tasks_of(small.record, lane);
    const Sums all = sums_of(tasks);
    for (const std::size_t most : {tasks.size(), std::size_t{3000}, std::size_t{70}}) {
      for (const BlockLevel& level : levels_of(tasks, small.record.step_seconds, most)) {
        EXPECT_LE(level.blocks.size(), most) << name(lane);
        expect_same(sums_of(level.blocks), all);
      }
    }
  }
}

TEST(TaskBlocks, HaveCoarserLevelsWhereThereAreManyTasks) {
  const SmallStep small(16);
  const std::vector<Block> tasks = tasks_of(small.record, Lane::kCompute);
  ASSERT_GT(tasks.size(), 3000U);
  const std::vector<BlockLevel> levels = levels_of(tasks, small.record.step_seconds, tasks.size());
  ASSERT_GT(levels.size(), 1U);
  EXPECT_EQ(levels.front().blocks.size(), tasks.size()) << "merged though there is room for all";
  EXPECT_LE(levels.back().blocks.size(), 1500U);
  for (std::size_t i = 1; i < levels.size(); ++i)
    EXPECT_LE(levels[i].blocks.size(), levels[i - 1].blocks.size() / 2);
}

// What can be seen is not hidden in a block.
TEST(TaskBlocks, LeaveLongTasksAlone) {
  const auto task = [](double start_s, double end_s) {
    Block block;
    block.start_s = start_s;
    block.end_s = end_s;
    block.busy_s = block.longest_s = end_s - start_s;
    return block;
  };
  const std::vector<Block> blocks =
      merged({task(0, 1), task(1, 2), task(2, 12), task(12, 13), task(20, 21)}, 4);
  ASSERT_EQ(blocks.size(), 4U);
  EXPECT_EQ(blocks[0].tasks, 2U);
  EXPECT_EQ(blocks[1].tasks, 1U);
  EXPECT_DOUBLE_EQ(blocks[1].busy_s, 10);
  EXPECT_EQ(blocks[2].tasks, 1U);
  EXPECT_EQ(blocks[3].tasks, 1U) << "merged across a pause longer than the quantum";
}

TEST(TaskBlocks, NameWhatATaskWaitedFor) {
  const SmallStep small;
  std::size_t named = 0;
  for (const Block& block : tasks_of(small.record, Lane::kCompute)) {
    if (block.waited_s == 0) continue;
    ++named;
    EXPECT_NE(block.waited_for.at.lane, Lane::kCompute);
    const ProgramRun& run = small.record.runs[block.waited_for.run];
    const Interval& held =
        run.timeline.tasks[index(block.waited_for.at.lane)][block.waited_for.at.index];
    EXPECT_NEAR(run.start_s + held.end_s, block.start_s, 1e-9);
  }
  EXPECT_GT(named, 0U);
}

}  // namespace
}  // namespace ebbtide::report
