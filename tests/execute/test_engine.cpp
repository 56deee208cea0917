#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "ebbtide/error.hpp"
#include "tests/execute/allocations.hpp"
#include "tests/execute/engine_under_test.hpp"
#include "tests/execute/relay.hpp"
#include "tiering/execute/seams.hpp"

namespace ebbtide::test {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{512} << 10;

class EngineOf : public testing::TestWithParam<IoEngine> {};

TEST_P(EngineOf, TakesAValueThroughEveryLane) {
  const Relay relay(kBytes);
  EngineOptions options = options_for(relay);
  options.io_engine = GetParam();
  Engine engine = engine_for(relay, options);
  EXPECT_TRUE(relay.runs_right(engine));
}

TEST_P(EngineOf, GivesTheSameBytesWhenFreedBlocksAreOverwritten) {
  const Relay relay(kBytes);
  EngineOptions options = options_for(relay);
  options.io_engine = GetParam();
  options.freed_blocks = FreedBlocks::kPoison;
  options.offload_check = OffloadCheck::kChecksum;
  Engine engine = engine_for(relay, options);
  EXPECT_TRUE(relay.runs_right(engine));
  EXPECT_TRUE(relay.runs_right(engine));
  EXPECT_GT(engine.counters().poisoned_bytes, 2 * kBytes);
  EXPECT_EQ(engine.counters().checked_bytes, 2 * kBytes);
}

TEST_P(EngineOf, KeepsHomesOfEverySizeOnEveryTier) {
  constexpr std::uint64_t kTierBytes = std::uint64_t{24} << 20;
  EngineOptions options;
  options.host_bytes = options.nvme_bytes = kTierBytes;
  options.nvme_paths = {disk_directory(), disk_directory()};
  options.io_engine = GetParam();
  Engine engine(slow_device(kTierBytes, {}), options);
  HomeLayout homes;
  std::vector<std::pair<Home, std::vector<std::byte>>> written;
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
    for (const std::uint64_t size_bytes : {1UL, 511UL, 4095UL, 4097UL, (9UL << 20) + 1}) {
      std::vector<std::byte> bytes(size_bytes);
      for (std::uint64_t i = 0; i < size_bytes; ++i)
        bytes[i] = static_cast<std::byte>(pattern(size_bytes, i) >> 56);
      written.emplace_back(homes.add(size_bytes, tier), bytes);
      engine.write_home(written.back().first, bytes);
    }
  }
  for (const auto& [home, bytes] : written) {
    std::vector<std::byte> back(bytes.size());
    engine.read_home(home, back);
    EXPECT_EQ(back, bytes) << name(home.tier) << " " << home.size_bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(IoEngines, EngineOf, testing::Values(IoEngine::kAuto, IoEngine::kThreads),
                         [](const testing::TestParamInfo<IoEngine>& tested) {
                           return tested.param == IoEngine::kAuto ? "Auto" : "Threads";
                         });

TEST(Engine, CarriesHomesFromRunToRun) {
  const Relay relay(kBytes);
  Engine engine = engine_for(relay, options_for(relay));
  engine.write_home(relay.total(), std::vector<std::byte>(kBytes));
  for (int run = 1; run <= 3; ++run) {
    engine.run(relay.program(), relay.plan());
    EXPECT_TRUE(relay.is_right(engine, static_cast<std::uint64_t>(run))) << run;
  }
}

TEST(Engine, RunsAPlanWithoutTasks) {
  const Program program;
  const Plan plan;
  Engine engine(slow_device(4096, {}), {});
  const Timeline& timeline = engine.run(program, plan);
  EXPECT_GE(timeline.step_seconds, 0);
  EXPECT_TRUE(timeline.tasks[index(Lane::kCompute)].empty());
}

TEST(Engine, RecordsWhenEveryTaskRan) {
  const Relay relay(kBytes);
  Engine engine = engine_for(relay, options_for(relay));
  const Timeline& timeline = engine.run(relay.program(), relay.plan());
  const auto at = [&](Lane lane, std::size_t task) { return timeline.tasks[index(lane)][task]; };
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    ASSERT_EQ(timeline.tasks[i].size(), relay.plan().tasks[i].size());
    for (const Interval& interval : timeline.tasks[i]) {
      EXPECT_LE(0, interval.start_s);
      EXPECT_LE(interval.start_s, interval.end_s);
      EXPECT_LE(interval.end_s, timeline.step_seconds);
    }
  }
  EXPECT_LE(at(Lane::kD2h, 0).end_s, at(Lane::kNvmeWrite, 0).start_s);
  EXPECT_LE(at(Lane::kNvmeWrite, 0).end_s, at(Lane::kNvmeRead, 0).start_s);
  EXPECT_LE(at(Lane::kNvmeRead, 0).end_s, at(Lane::kH2d, 0).start_s);
  EXPECT_LE(at(Lane::kH2d, 0).end_s, at(Lane::kCompute, 3).start_s);
}

TEST(Engine, CountsWhatItTouchedAndMoved) {
  const Relay relay(kBytes);
  Engine engine = engine_for(relay, options_for(relay));
  engine.run(relay.program(), relay.plan());
  const EngineCounters& counters = engine.counters();
  EXPECT_EQ(counters.touched_bytes[index(Tier::kDevice)], 4 * kBytes);
  EXPECT_EQ(counters.touched_bytes[index(Tier::kHost)], 5 * kBytes);
  EXPECT_EQ(counters.touched_bytes[index(Tier::kNvme)], kBytes);
  const PerLane<std::uint64_t> moved{kBytes, 2 * kBytes, kBytes, kBytes, kBytes, 0, 0};
  EXPECT_EQ(counters.moved_bytes, moved);
  EXPECT_EQ(counters.poisoned_bytes, 0U);
}

TEST(Engine, RefusesAPlanThatReachesPastWhatWasReserved) {
  const Relay relay(kBytes);
  EngineOptions options = options_for(relay);
  options.host_bytes -= kPageAlignment;
  Engine engine = engine_for(relay, options);
  EXPECT_THROW(engine.run(relay.program(), relay.plan()), ContractViolation);
}

TEST(Engine, RefusesAnAddressPastTheArenaEvenIfThePlanHidesIt) {
  const Relay relay(kBytes);
  Plan plan = relay.plan();
  plan.segments[0].to = relay.host_bytes() - kBytes + kPageAlignment;
  Engine engine = engine_for(relay, options_for(relay));
  EXPECT_THROW(engine.run(relay.program(), plan), ContractViolation);
  EXPECT_TRUE(relay.runs_right(engine));
}

TEST(Engine, RefusesToRunWithinItself) {
  Relay relay(kBytes);
  Engine engine = engine_for(relay, options_for(relay));
  relay.before_op = [&](const std::string&) { engine.run(relay.program(), relay.plan()); };
  EXPECT_THROW(engine.run(relay.program(), relay.plan()), ContractViolation);
  relay.before_op = {};
  EXPECT_TRUE(relay.runs_right(engine));
}

TEST(Engine, RefusesDiskTasksWithoutADiskTier) {
  const Relay relay(kBytes);
  EngineOptions options = options_for(relay);
  options.nvme_bytes = 0;
  Plan plan = relay.plan();
  plan.span_bytes[index(Tier::kNvme)] = 0;
  Engine engine = engine_for(relay, options);
  EXPECT_THROW(engine.run(relay.program(), plan), ContractViolation);
}

TEST(Engine, RefusesOptionsThatCannotBeMeant) {
  const auto code_of = [](const EngineOptions& options) {
    try {
      const Engine engine(slow_device(4096, {}), options);
    } catch (const Error& error) {
      return error.code();
    }
    return std::error_code();
  };
  const std::error_code bad_usage = make_error_code(Errc::kBadUsage);
  EXPECT_EQ(code_of({.nvme_bytes = 4096}), bad_usage);
  EXPECT_EQ(code_of({.io_block_bytes = 0}), bad_usage);
  EXPECT_EQ(code_of({.io_block_bytes = 5000}), bad_usage);
  EXPECT_EQ(code_of({.io_queue_depth = 0}), bad_usage);
  EXPECT_EQ(code_of({.host_bytes = std::uint64_t{1} << 46}), make_error_code(Errc::kDoesNotFit));
}

TEST(Engine, GoesOnUnlockedWithOneWarningWhereLockingIsRefused) {
  const Relay relay(kBytes);
  EngineSeams seams;
  seams.lock_pages = [](void*, std::size_t) { return ENOMEM; };
  EngineOptions options = options_for(relay);
  options.host_lock = HostLock::kTry;
  options.seams = &seams;
  Engine engine = engine_for(relay, options);
  const auto locking = std::ranges::count_if(engine.warnings(), [](const std::string& line) {
    return line.find("lock") != std::string::npos;
  });
  EXPECT_EQ(locking, 1);
  EXPECT_TRUE(relay.runs_right(engine));
}

TEST(Engine, SaysThatTheDiskTierDoesNotFitAndLeavesNothingBehind) {
  const Relay relay(kBytes);
  EngineOptions options = options_for(relay);
  options.nvme_bytes = std::uint64_t{1} << 50;
  try {
    engine_for(relay, options);
    FAIL() << "a PiB was reserved";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::kDoesNotFit)) << error.what();
    EXPECT_FALSE(error.context().path.empty());
  }
}

TEST(Engine, LeavesNothingButHomesBehindWhenFreedBlocksAreOverwritten) {
  const Relay relay(kBytes);
  EngineOptions options = options_for(relay);
  options.freed_blocks = FreedBlocks::kPoison;
  Engine engine = engine_for(relay, options);
  EXPECT_TRUE(relay.runs_right(engine));
  const auto is_nan = [](std::byte byte) { return byte == std::byte{0xFF}; };
  EXPECT_TRUE(std::ranges::all_of(engine.device().arena(), is_nan));
}

std::uint64_t resident_pages() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  statm >> total >> resident;
  return resident;
}

// A home is read back in parts, in others than it was written in.
TEST_P(EngineOf, ChecksHomesThatAreReadBackInParts) {
  constexpr std::uint64_t kHomeBytes = (9UL << 20) + 1;
  EngineOptions options;
  options.host_bytes = options.nvme_bytes = std::uint64_t{12} << 20;
  options.nvme_paths = {disk_directory()};
  options.io_engine = GetParam();
  options.offload_check = OffloadCheck::kChecksum;
  Program program;
  HomeLayout layout;
  const Home home = layout.add(kHomeBytes, Tier::kNvme);
  const KindId kind = program.add_kind({"value", "values", {}});
  const ValueId value = program.add_value({.kind = kind}, home);
  const auto ones = [](const OpContext& op) { std::memset(op.operands[0], 1, kHomeBytes); };
  const KernelId make = program.add_kernel({"make", Place::kHost, ones});
  program.add_op(make, {write(value)}, 0, {});
  program.set_home_bytes(layout.bytes());
  const Plan plan =
      make_plan(program, {0, options.host_bytes, options.nvme_bytes}, generic_cpu_hardware(), {});
  Engine engine(slow_device(4096, {}), options);
  engine.run(program, plan);  // the lane writes it as one block
  std::vector<std::byte> back(kHomeBytes);
  engine.read_home(home, back);
  EXPECT_EQ(back.back(), std::byte{1});
  EXPECT_EQ(engine.counters().checked_bytes, extent(kHomeBytes, Tier::kNvme));
  EXPECT_EQ(engine.counters().unchecked_bytes, 0U);
}

class EngineWithCheck : public testing::TestWithParam<OffloadCheck> {};
INSTANTIATE_TEST_SUITE_P(Each, EngineWithCheck,
                         testing::Values(OffloadCheck::kNone, OffloadCheck::kChecksum),
                         [](const auto& tested) {
                           return tested.param == OffloadCheck::kNone ? "Without" : "Checksums";
                         });

TEST_P(EngineWithCheck, NeitherAllocatesNorGrowsOnceAPlanHasBeenRun) {
  const Relay relay(kBytes);
  EngineOptions options = options_for(relay);
  options.offload_check = GetParam();
  Engine engine = engine_for(relay, options);
  engine.write_home(relay.total(), std::vector<std::byte>(kBytes));
  for (int run = 0; run < 3; ++run) engine.run(relay.program(), relay.plan());
  [[maybe_unused]] const std::uint64_t pages_before = resident_pages();
  const std::uint64_t allocations_before = allocation_count();
  for (int run = 0; run < 200; ++run) engine.run(relay.program(), relay.plan());
  EXPECT_EQ(allocation_count() - allocations_before, 0U);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // their shadows grow
  EXPECT_LE(resident_pages(), pages_before + 16);
#endif
  EXPECT_TRUE(relay.is_right(engine, 203));
}

}  // namespace
}  // namespace ebbtide::test
