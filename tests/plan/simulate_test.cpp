#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "ebbtide/error.hpp"
#include "ebbtide/timeline.hpp"
#include "tests/plan/spill.hpp"

namespace ebbtide::plan_test {
namespace {

// Every op, move, copy of a Spill takes one second, a transfer to or from disk two.
HardwareModel seconds() {
  HardwareModel model;
  model.device_flops_per_s = model.host_flops_per_s = 1e6;
  model.device_memory_bytes_per_s = model.host_memory_bytes_per_s = 400;
  model.d2h = model.h2d = {200, 0};
  model.nvme_write = model.nvme_read = {100, 0};
  return model;
}

void expect_interval(const Interval& interval, double start_s, double end_s) {
  EXPECT_DOUBLE_EQ(interval.start_s, start_s);
  EXPECT_DOUBLE_EQ(interval.end_s, end_s);
}

TEST(Simulate, StartsEachTaskWhenItsWaitsAreMet) {
  const Spill spill;
  const Timeline timeline = simulate(spill.program, spill.plan(), seconds());
  const auto at = [&](Lane lane, std::size_t i) { return timeline.tasks[index(lane)].at(i); };
  expect_interval(at(Lane::kCompute, 1), 1, 2);
  expect_interval(at(Lane::kD2h, 0), 1, 2);
  expect_interval(at(Lane::kCompute, 2), 2, 3);
  expect_interval(at(Lane::kNvmeWrite, 0), 2, 4);
  expect_interval(at(Lane::kCompute, 3), 3, 4);  // the move
  expect_interval(at(Lane::kNvmeRead, 0), 4, 6);
  expect_interval(at(Lane::kH2d, 0), 6, 7);
  expect_interval(at(Lane::kCompute, 5), 7, 8);
  expect_interval(at(Lane::kD2h, 1), 8, 9);
  expect_interval(at(Lane::kHostCompute, 0), 9, 10);
  EXPECT_DOUBLE_EQ(timeline.step_seconds, 10);
}

TEST(Simulate, CountsLoadsThatWereDoneBeforeTheirUse) {
  const Spill spill;
  const Plan plan = spill.plan();
  Timeline timeline = simulate(spill.program, plan, seconds());
  EXPECT_EQ(timeline.loads(plan).all, 1U);
  EXPECT_EQ(timeline.loads(plan).in_time, 0U);
  timeline.tasks[index(Lane::kH2d)][0].end_s = timeline.tasks[index(Lane::kCompute)][4].end_s;
  EXPECT_EQ(timeline.loads(plan).in_time, 1U);
}

// Three blocks of a second each that wait a second more for the disk's answer.
Timeline three_writes(std::uint32_t width) {
  Program program;
  const KindId kind = program.add_kind({"value", "values", {}});
  const KernelId make = program.add_kernel({"make", Place::kHost, {}});
  const ValueId x = program.add_value({.size_bytes = 100, .kind = kind});
  const Use use = write(x);
  program.add_op(make, std::span(&use, 1), {}, {});
  PlanBuilder to(program, {0, 4 * kPage, 4 * kPage});
  to.set_width(Lane::kNvmeWrite, width);
  const Wait made = to.op(0, {0});
  to.transfer(Lane::kNvmeWrite, {{0, 0, x}}, {made});
  to.transfer(Lane::kNvmeWrite, {{0, kPage, x}});
  to.transfer(Lane::kNvmeWrite, {{0, 2 * kPage, x}});
  HardwareModel hardware = seconds();
  hardware.nvme_write = {100, 1};
  return simulate(program, to.plan(), hardware);
}

TEST(Simulate, OverlapsLatenciesAsFarAsTheWidthAllows) {
  const std::vector<Interval> narrow = three_writes(1).tasks[index(Lane::kNvmeWrite)];
  expect_interval(narrow[1], 2, 4);
  expect_interval(narrow[2], 4, 6);
  const Timeline wide = three_writes(2);
  const std::vector<Interval>& tasks = wide.tasks[index(Lane::kNvmeWrite)];
  expect_interval(tasks[0], 0, 2);
  expect_interval(tasks[1], 0, 3);  // its bytes follow the first one's
  expect_interval(tasks[2], 2, 4);  // and it starts when the first has ended
  EXPECT_DOUBLE_EQ(wide.busy_seconds(Lane::kNvmeWrite), 4);
}

// A store and a load of 100 bytes each, at once; a link that does 100 bytes a second one way.
struct BothWays {
  Program program;
  Plan plan;

  BothWays() {
    const KindId kind = program.add_kind({"value", "values", {}});
    const KernelId make = program.add_kernel({"make", Place::kHost, {}});
    const ValueId x = program.add_value({.size_bytes = 100, .kind = kind});
    const Use use = write(x);
    program.add_op(make, std::span(&use, 1), {}, {});
    PlanBuilder to(program, {4 * kPage, 4 * kPage, 4 * kPage});
    const Wait made = to.op(0, {0});
    to.transfer(Lane::kH2d, {{0, 0, x}}, {made});
    to.transfer(Lane::kD2h, {{0, kPage, x}}, {made});
    to.transfer(Lane::kD2h, {{0, 2 * kPage, x}});
    plan = to.plan();
  }
};

HardwareModel shared(double both_ways_bytes_per_s, double dram_bytes_per_s) {
  HardwareModel hardware = seconds();
  hardware.host_memory_bytes_per_s = dram_bytes_per_s;
  hardware.d2h = hardware.h2d = {both_ways_bytes_per_s, 0};
  hardware.shared = {.link_bytes_per_s = 100,
                     .link_both_ways_bytes_per_s = both_ways_bytes_per_s,
                     .nvme_read_bytes_per_s = 100,
                     .nvme_write_bytes_per_s = 100};
  return hardware;
}

TEST(Simulate, SlowsTheDirectionsOfALinkWhileBothCopy) {
  const BothWays both;
  const Timeline timeline = simulate(both.program, both.plan, shared(50, 1e9));
  expect_interval(timeline.tasks[index(Lane::kH2d)][0], 0, 2);
  expect_interval(timeline.tasks[index(Lane::kD2h)][0], 0, 2);
  expect_interval(timeline.tasks[index(Lane::kD2h)][1], 2, 3);  // alone
}

TEST(Simulate, SharesDramAmongThoseWhoCrossIt) {
  const BothWays both;
  const Timeline timeline = simulate(both.program, both.plan, shared(100, 80));
  expect_interval(timeline.tasks[index(Lane::kH2d)][0], 0, 2.5);
  expect_interval(timeline.tasks[index(Lane::kD2h)][0], 0, 2.5);
  expect_interval(timeline.tasks[index(Lane::kD2h)][1], 2.5, 3.75);
}

TEST(Simulate, LetsADriveReadOrWrite) {
  BothWays both;
  std::swap(both.plan.tasks[index(Lane::kH2d)], both.plan.tasks[index(Lane::kNvmeRead)]);
  std::swap(both.plan.tasks[index(Lane::kD2h)], both.plan.tasks[index(Lane::kNvmeWrite)]);
  const Timeline timeline = simulate(both.program, both.plan, shared(100, 1e9));
  expect_interval(timeline.tasks[index(Lane::kNvmeRead)][0], 0, 2);
  expect_interval(timeline.tasks[index(Lane::kNvmeWrite)][0], 0, 2);
  expect_interval(timeline.tasks[index(Lane::kNvmeWrite)][1], 2, 3);
}

TEST(Simulate, GivesTheSameJitterForASeedAndAnotherForAnother) {
  const Spill spill;
  const Plan plan = spill.plan();
  const auto step_s = [&](std::uint64_t seed) {
    return simulate(spill.program, plan, seconds(), Jitter{.seed = seed, .spread = 0.1})
        .step_seconds;
  };
  EXPECT_EQ(step_s(1), step_s(1));
  EXPECT_NE(step_s(1), step_s(2));
  double sum_s = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) sum_s += step_s(seed);
  EXPECT_NEAR(sum_s / 1000, 10, 0.2);  // some tasks run side by side, and the later one counts
}

// The mean of an exponential is its 99th percentile over ln 100.
TEST(Simulate, LetsADriveAnswerLateNowAndThen) {
  const Spill spill;
  const Plan plan = spill.plan();
  HardwareModel hardware = seconds();
  hardware.nvme_read.latency_s = 0.1;
  hardware.nvme_latency_p99_s = 1.1;
  const double median_s = simulate(spill.program, plan, hardware).step_seconds;
  EXPECT_DOUBLE_EQ(median_s, 10.1);
  double late_s = 0;
  int past_p99 = 0;
  for (std::uint64_t seed = 0; seed < 10000; ++seed) {
    const Jitter jitter{.seed = seed, .spread = 0};
    const Interval load =
        simulate(spill.program, plan, hardware, jitter).tasks[index(Lane::kNvmeRead)][0];
    late_s += load.end_s - load.start_s - 2.1;
    if (load.end_s - load.start_s > 3.1) ++past_p99;
  }
  EXPECT_NEAR(late_s / 10000, 1 / std::log(100), 0.01);
  EXPECT_NEAR(past_p99, 100, 30);
}

TEST(Simulate, ThrowsWhereLanesDeadlock) {
  const Spill spill;
  Plan plan = spill.plan();
  plan.waits[plan.tasks[index(Lane::kD2h)][0].waits_begin].count = 6;
  EXPECT_THROW(simulate(spill.program, plan, seconds()), ContractViolation);
}

}  // namespace
}  // namespace ebbtide::plan_test
