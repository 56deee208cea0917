// A failure on any lane ends the run with its cause, and the engine can be used again.
#include <gtest/gtest.h>

#include <future>

#include "ebbtide/error.hpp"
#include "tests/execute/delayed_disk.hpp"
#include "tests/execute/engine_under_test.hpp"
#include "tests/execute/relay.hpp"
#include "tiering/execute/seams.hpp"

namespace ebbtide::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kBytes = std::uint64_t{256} << 10;

struct Planned : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class FailingLane : public testing::TestWithParam<const char*> {};

TEST_P(FailingLane, ThrowsItsCauseOnTheCallerAndRunsAgain) {
  std::atomic<bool> fails{true};
  const auto fail_at = [&](std::string_view place) {
    if (fails && place == GetParam()) throw Planned(GetParam());
  };
  Relay relay(kBytes);
  relay.before_op = [&](const std::string& kernel) { fail_at(kernel); };
  Engine engine = engine_for(relay, options_for(relay), [&](Lane lane) { fail_at(name(lane)); });
  for (int run = 0; run < 3; ++run) {
    try {
      engine.run(relay.program(), relay.plan());
      ADD_FAILURE() << "the failure was lost";
    } catch (const Planned& planned) {
      EXPECT_STREQ(planned.what(), GetParam());
    }
  }
  fails = false;
  EXPECT_TRUE(relay.runs_right(engine));
}

INSTANTIATE_TEST_SUITE_P(OfTheRelay, FailingLane,
                         testing::Values("fill", "add", "accumulate", "look", "d2h", "h2d"),
                         [](const testing::TestParamInfo<const char*>& tested) {
                           return std::string(tested.param);
                         });

class FailingDisk : public testing::TestWithParam<std::tuple<tiers::IoDirection, IoEngine>> {};

TEST_P(FailingDisk, ThrowsTheErrnoWithPathAndOffsetAndRunsAgain) {
  const auto [direction, io_engine] = GetParam();
  DelayedDisk disk(direction, {.error = EIO});
  EngineSeams seams;
  seams.io_faults = &disk;
  const Relay relay(kBytes);
  EngineOptions options = options_for(relay);
  options.io_engine = io_engine;
  options.seams = &seams;
  Engine engine = engine_for(relay, options);
  try {
    engine.run(relay.program(), relay.plan());
    ADD_FAILURE() << "the failure was lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), std::error_code(EIO, std::system_category())) << error.what();
    EXPECT_FALSE(error.context().path.empty());
    EXPECT_TRUE(error.context().offset.has_value());
    EXPECT_GT(error.context().wanted.value_or(0), 0U);
    EXPECT_EQ(exit_status(error.code()), 1);
  }
  EXPECT_GT(disk.hits(), 0);
  disk.set(false);
  EXPECT_TRUE(relay.runs_right(engine));
}

INSTANTIATE_TEST_SUITE_P(OfTheRelay, FailingDisk,
                         testing::Combine(testing::Values(tiers::IoDirection::kRead,
                                                          tiers::IoDirection::kWrite),
                                          testing::Values(IoEngine::kAuto, IoEngine::kThreads)));

std::error_code code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

TEST(CancelledEngine, EndsTheRunWhileAWriteIsOnItsWay) {
  DelayedDisk disk(tiers::IoDirection::kWrite, {.delay = 200ms});
  EngineSeams seams;
  seams.io_faults = &disk;
  const Relay relay(kBytes);
  EngineOptions options = options_for(relay);
  options.io_block_bytes = kBytes;
  options.seams = &seams;
  Engine engine = engine_for(relay, options);
  std::future<void> canceller = std::async(std::launch::async, [&] {
    while (disk.hits() == 0) std::this_thread::sleep_for(1ms);
    engine.cancel();
  });
  EXPECT_EQ(code_of([&] { engine.run(relay.program(), relay.plan()); }),
            make_error_code(Errc::kCancelled));
  canceller.get();
  disk.set(false);
  EXPECT_TRUE(relay.runs_right(engine));
}

TEST(CancelledEngine, EndsTheRunFromWithinAnOp) {
  Relay relay(kBytes);
  Engine engine = engine_for(relay, options_for(relay));
  for (const char* where : {"fill", "add", "accumulate", "look"}) {
    relay.before_op = [&](const std::string& kernel) {
      if (kernel == where) engine.cancel();
    };
    EXPECT_EQ(code_of([&] { engine.run(relay.program(), relay.plan()); }),
              make_error_code(Errc::kCancelled))
        << where;
  }
  relay.before_op = {};
  EXPECT_TRUE(relay.runs_right(engine));
}

TEST(CancelledEngine, IgnoresACancelBetweenRuns) {
  const Relay relay(kBytes);
  Engine engine = engine_for(relay, options_for(relay));
  engine.cancel();
  EXPECT_TRUE(relay.runs_right(engine));
}

TEST(CancelledEngine, DiesAfterAnAbortWithoutAnotherRun) {
  DelayedDisk disk(tiers::IoDirection::kRead, {.delay = 50ms, .error = EIO});
  EngineSeams seams;
  seams.io_faults = &disk;
  const Relay relay(kBytes);
  EngineOptions options = options_for(relay);
  options.seams = &seams;
  Engine engine = engine_for(relay, options);
  EXPECT_NE(code_of([&] { engine.run(relay.program(), relay.plan()); }), std::error_code());
}

}  // namespace
}  // namespace ebbtide::test
