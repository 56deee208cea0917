// Disk lanes hold several tasks in flight, that finish in any order.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "tests/execute/engine_under_test.hpp"
#include "tests/execute/relay.hpp"
#include "tests/plan/plan_builder.hpp"
#include "tiering/execute/seams.hpp"

namespace ebbtide::test {
namespace {

using namespace std::chrono_literals;

// Each of kValues is made in one host slot, written to disk, read back into another slot and
// added to a home, with kWidth transfers of each direction in flight.
class Wide {
 public:
  static constexpr std::uint64_t kBytes = std::uint64_t{64} << 10;
  static constexpr std::uint32_t kValues = 12;
  static constexpr std::uint32_t kWidth = 4;

  Wide() {
    const KindId kind = program_.add_kind({.name = "value", .category = "values"});
    HomeLayout homes;
    sum_home_ = homes.add(kBytes, Tier::kHost);
    program_.set_home_bytes(homes.bytes());
    const ValueId sum = program_.add_value({.kind = kind}, sum_home_);
    const KernelId make = program_.add_kernel({"make", Place::kHost, [](const OpContext& context) {
                                                 const auto out =
                                                     words(context.operands[0], kBytes);
                                                 for (std::uint64_t i = 0; i < out.size(); ++i)
                                                   out[i] = pattern(seed(context), i);
                                               }});
    const KernelId add = program_.add_kernel({"add", Place::kHost, [](const OpContext& context) {
                                                const auto x = words(context.operands[0], kBytes);
                                                const auto out = words(context.operands[1], kBytes);
                                                for (std::uint64_t i = 0; i < out.size(); ++i)
                                                  out[i] += x[i];
                                              }});
    plan_.set_width(Lane::kNvmeWrite, kWidth);
    plan_.set_width(Lane::kNvmeRead, kWidth);
    std::vector<ValueId> values;
    std::vector<OpId> makes;
    std::vector<OpId> adds;
    for (std::uint64_t i = 0; i < kValues; ++i) {
      values.push_back(program_.add_value({.size_bytes = kBytes, .kind = kind}));
      makes.push_back(program_.add_op(make, {write(values[i])}, i, {}));
    }
    for (std::uint64_t i = 0; i < kValues; ++i)
      adds.push_back(program_.add_op(add, {read(values[i]), update(sum)}, i, {}));
    std::vector<Wait> written;
    for (std::uint64_t i = 0; i < kValues; ++i) {
      const Wait made = plan_.op(makes[i], {slot(i)});
      written.push_back(
          plan_.transfer(Lane::kNvmeWrite, {{slot(i), i * kBytes, values[i]}}, {made}));
    }
    for (std::uint64_t i = 0; i < kValues; ++i) {
      const Wait fetched = plan_.transfer(
          Lane::kNvmeRead, {{i * kBytes, slot(kValues + i), values[i]}}, {written[i]});
      plan_.op(adds[i], {slot(kValues + i), sum_home_.address}, {fetched});
    }
  }
  Wide(const Wide&) = delete;
  Wide& operator=(const Wide&) = delete;

  const Program& program() const { return program_; }
  const Plan& plan() const { return plan_.plan(); }
  static std::uint64_t device_bytes() { return kDeviceAlignment; }
  static std::uint64_t host_bytes() { return (2 * kValues + 1) * kBytes; }
  static std::uint64_t nvme_bytes() { return kValues * kBytes; }

  const Timeline& run(Engine& engine) const {
    engine.write_home(sum_home_, std::vector<std::byte>(kBytes));
    return engine.run(program_, plan());
  }
  bool is_right(Engine& engine) const {
    std::vector<std::byte> bytes(kBytes);
    engine.read_home(sum_home_, bytes);
    const auto got = words(bytes.data(), kBytes);
    for (std::uint64_t i = 0; i < got.size(); ++i) {
      std::uint64_t expected = 0;
      for (std::uint64_t value = 0; value < kValues; ++value) expected += pattern(value, i);
      if (got[i] != expected) return false;
    }
    return true;
  }

 private:
  static std::uint64_t seed(const OpContext& context) {
    std::uint64_t seed = 0;
    std::memcpy(&seed, context.args.data(), sizeof seed);
    return seed;
  }
  static std::uint64_t slot(std::uint64_t i) { return (i + 1) * kBytes; }

  Program program_;
  plan_test::PlanBuilder plan_{program_};
  Home sum_home_;
};

EngineOptions options_for_whole_values(const Wide& wide, IoEngine io_engine,
                                       const EngineSeams* seams) {
  EngineOptions options = options_for(wide);
  options.io_engine = io_engine;
  options.io_block_bytes = Wide::kBytes;
  options.freed_blocks = FreedBlocks::kPoison;
  options.seams = seams;
  return options;
}

// No write goes on before as many have come as the lane is wide.
class Meeting final : public tiers::IoFaults {
 public:
  tiers::IoFault on_transfer(const tiers::KernelTransfer& transfer) override {
    if (transfer.direction != tiers::IoDirection::kWrite) return {};
    std::unique_lock lock(mutex_);
    ++come_;
    changed_.notify_all();
    met_ &= changed_.wait_for(lock, 20s, [&] { return come_ >= Wide::kWidth; });
    return {};
  }
  bool met() const { return met_ && come_ == Wide::kValues; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint32_t come_ = 0;
  bool met_ = true;
};

TEST(WideLane, HasAsManyTasksInFlightAsItIsWide) {
  const Wide wide;
  Meeting meeting;
  EngineSeams seams;
  seams.io_faults = &meeting;
  Engine engine = engine_for(wide, options_for_whole_values(wide, IoEngine::kThreads, &seams));
  wide.run(engine);
  EXPECT_TRUE(meeting.met());
  EXPECT_TRUE(wide.is_right(engine));
}

// The first transfer of each direction is late, so that all others finish before it.
class LateFirst final : public tiers::IoFaults {
 public:
  tiers::IoFault on_transfer(const tiers::KernelTransfer& transfer) override {
    std::atomic<bool>& seen = seen_[transfer.direction == tiers::IoDirection::kRead ? 0 : 1];
    return {.delay = seen.exchange(true) ? 0ms : 50ms};
  }

 private:
  std::array<std::atomic<bool>, 2> seen_{};
};

class WideLaneOf : public testing::TestWithParam<IoEngine> {};

TEST_P(WideLaneOf, NeverExceedsItsWidthAndTakesCompletionsInAnyOrder) {
  const Wide wide;
  LateFirst late;
  EngineSeams seams;
  seams.io_faults = &late;
  Engine engine = engine_for(wide, options_for_whole_values(wide, GetParam(), &seams));
  const Timeline timeline = wide.run(engine);
  EXPECT_TRUE(wide.is_right(engine));
  EXPECT_GT(engine.counters().poisoned_bytes, 2 * Wide::kValues * Wide::kBytes - 1);
  for (const Lane lane : {Lane::kNvmeWrite, Lane::kNvmeRead}) {
    const std::vector<Interval>& tasks = timeline.tasks[index(lane)];
    double all_before_ended_s = 0;
    for (std::size_t i = Wide::kWidth; i < tasks.size(); ++i) {
      all_before_ended_s = std::max(all_before_ended_s, tasks[i - Wide::kWidth].end_s);
      EXPECT_LE(all_before_ended_s, tasks[i].start_s) << name(lane) << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(IoEngines, WideLaneOf,
                         testing::Values(IoEngine::kAuto, IoEngine::kThreads));

}  // namespace
}  // namespace ebbtide::test
