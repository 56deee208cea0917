// The sums that an accounting has to keep, whatever ran.
#include <gtest/gtest.h>

#include <mutex>
#include <random>

#include "ebbtide/error.hpp"
#include "src/report/exposure.hpp"
#include "tests/execute/engine_under_test.hpp"
#include "tests/execute/mixing_program.hpp"
#include "tests/plan/random_program.hpp"
#include "tiering/execute/seams.hpp"

namespace ebbtide::report {
namespace {

constexpr double kExact = 1e-9;

// Seconds in which compute stood still, straight from its tasks.
double still_s(const Timeline& timeline) {
  double still_s = 0;
  double until_s = 0;
  for (const Interval& task : timeline.tasks[ebbtide::index(Lane::kCompute)]) {
    still_s += std::max(0.0, task.start_s - until_s);
    until_s = std::max(until_s, task.end_s);
  }
  return still_s + timeline.step_seconds - until_s;
}

// Seconds of a lane's tasks, overlaps counted once: by sorting, not by lane order.
double busy_s(std::vector<Interval> tasks) {
  std::ranges::sort(tasks, {}, &Interval::start_s);
  double busy_s = 0;
  double until_s = 0;
  for (const Interval& task : tasks) {
    busy_s += std::max(0.0, task.end_s - std::max(task.start_s, until_s));
    until_s = std::max(until_s, task.end_s);
  }
  return busy_s;
}

void expect_sums(const Exposure& exposure, const Timeline& timeline, std::uint64_t seed) {
  EXPECT_NEAR(exposure.still_s(), still_s(timeline), kExact) << seed;
  EXPECT_NEAR(exposure.exposed_s() + exposure.causes[index(Cause::kDispatch)], still_s(timeline),
              kExact)
      << seed;
  double by_layer_s = 0;
  for (const auto& [layer, time] : exposure.layers) by_layer_s += time.still_s;
  EXPECT_NEAR(by_layer_s, still_s(timeline), kExact) << seed;
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    const Lane lane = static_cast<Lane>(i);
    const LaneTime& time = exposure.of(lane);
    EXPECT_NEAR(time.hidden_s() + time.exposed_s, busy_s(timeline.tasks[i]), kExact) << seed;
    EXPECT_NEAR(time.hidden_s() + time.exposed_s + exposure.idle_s(lane), timeline.step_seconds,
                kExact)
        << seed;
    EXPECT_GE(time.hidden_s(), -kExact) << seed << " " << name(lane);
    EXPECT_GE(exposure.idle_s(lane), -kExact) << seed << " " << name(lane);
    double causes_s = 0;
    for (const double seconds : time.causes) {
      EXPECT_GE(seconds, -kExact) << seed << " " << name(lane);
      causes_s += seconds;
    }
    EXPECT_NEAR(causes_s, time.exposed_s, kExact) << seed << " " << name(lane);
  }
  for (const double seconds : exposure.causes) EXPECT_GE(seconds, -kExact) << seed;
}

std::uint64_t all_values(const Program& program, Tier tier) {
  std::uint64_t bytes = program.home_bytes()[ebbtide::index(tier)];
  for (ValueId id = 0; id < program.value_count(); ++id)
    bytes += extent(program.value(id).size_bytes, tier);
  return bytes;
}

// With a quarter of the host arena that would hold everything, where that plans.
Plan plan_tightly(const Program& program, std::uint64_t seed) {
  PlanOptions options{.nvme_width = 1 + static_cast<std::uint32_t>(seed % 5) * 3};
  options.bucket_bytes = seed % 3 == 0 ? 0 : std::uint64_t{16} << (seed % 3 * 6);
  if (seed % 4 < 3) options.prefetch_chunk_steps = static_cast<std::uint32_t>(seed % 4);
  const std::uint64_t smallest = smallest_device_budget(program);
  Budgets budgets{align_up(smallest + smallest * (seed % 3) / 4, kDeviceAlignment),
                  program.home_bytes()[ebbtide::index(Tier::kHost)] +
                      align_up(all_values(program, Tier::kHost) / 4, kPageAlignment),
                  all_values(program, Tier::kNvme)};
  try {
    return make_plan(program, budgets, generic_cpu_hardware(), options);
  } catch (const Error&) {
    budgets.host_bytes = all_values(program, Tier::kHost);
    return make_plan(program, budgets, generic_cpu_hardware(), options);
  }
}

TEST(ExposureSums, HoldOnSimulatedStepsWithAndWithoutJitter) {
  PerCause<double> seen{};
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Program program = plan_test::random_program(seed);
    const Plan plan = plan_tightly(program, seed);
    HardwareModel hardware = generic_cpu_hardware();
    hardware.nvme_latency_p99_s = 2e-3;
    for (const bool strays : {false, true}) {
      const std::optional<Jitter> jitter =
          strays ? std::optional(Jitter{.seed = seed, .spread = 0.2}) : std::nullopt;
      const Timeline timeline = simulate(program, plan, hardware, jitter);
      const Exposure exposure = exposure_of(program, plan, timeline, hardware);
      expect_sums(exposure, timeline, seed);
      for (std::size_t cause = 0; cause < kCauseCount; ++cause)
        seen[cause] += exposure.causes[cause];
      EXPECT_NEAR(exposure.causes[index(Cause::kDispatch)], 0, kExact)
          << "in virtual time nobody dawdles, seed " << seed;
    }
  }
  for (const Cause cause :
       {Cause::kLateIssue, Cause::kDeviceRoom, Cause::kHostRoom, Cause::kLinkRate, Cause::kDiskRate,
        Cause::kSmallTransfers, Cause::kHostOptimizer, Cause::kCollective})
    EXPECT_GT(seen[index(cause)], 0) << name(cause) << " was never charged";
}

// Sleeps now and then, for a time that a seed chooses, on whatever thread asks.
class RandomDelays final : public tiers::IoFaults {
 public:
  explicit RandomDelays(std::uint64_t seed) : engine_(seed) {}

  void sleep() { std::this_thread::sleep_for(next()); }
  tiers::IoFault on_transfer(const tiers::KernelTransfer&) override { return {.delay = next()}; }

 private:
  std::chrono::microseconds next() {
    const std::scoped_lock lock(mutex_);
    return std::chrono::microseconds(engine_() % 4 == 0 ? engine_() % 500 : 0);
  }

  std::mutex mutex_;
  std::mt19937_64 engine_;
};

class ExposureOfEngineRuns : public testing::TestWithParam<std::uint64_t> {};

TEST_P(ExposureOfEngineRuns, KeepTheSums) {
  const std::uint64_t seed = GetParam();
  RandomDelays delays(seed);
  const Program program = test::with_mixing_ops(plan_test::random_program(seed, {.ops_max = 80}),
                                                [&](OpId) { delays.sleep(); });
  const Plan plan = plan_tightly(program, seed);
  ASSERT_TRUE(verify(program, plan).ok());
  EngineSeams seams;
  seams.io_faults = &delays;
  EngineOptions options;
  options.host_bytes = plan.budgets.host_bytes;
  options.nvme_bytes = std::max(plan.budgets.nvme_bytes, kPageAlignment);
  options.nvme_paths = {test::disk_directory()};
  options.io_engine = seed % 2 == 0 ? IoEngine::kAuto : IoEngine::kThreads;
  options.seams = &seams;
  Engine engine(test::slow_device(plan.budgets.device_bytes, [&](Lane) { delays.sleep(); }),
                options);
  for (int step = 0; step < 2; ++step) {
    const Timeline& timeline = engine.run(program, plan);
    expect_sums(exposure_of(program, plan, timeline, generic_cpu_hardware()), timeline, seed);
  }
}

INSTANTIATE_TEST_SUITE_P(BySeed, ExposureOfEngineRuns, testing::Range<std::uint64_t>(0, 15));

}  // namespace
}  // namespace ebbtide::report
