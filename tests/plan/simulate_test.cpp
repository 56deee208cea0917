#include <gtest/gtest.h>

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

TEST(Simulate, ChargesStandstillToTheLaneAtWork) {
  const Spill spill;
  const Plan plan = spill.plan();
  const Timeline timeline = simulate(spill.program, plan, seconds());
  const PerLane<double> exposed = timeline.exposed_seconds(plan);
  EXPECT_DOUBLE_EQ(exposed[index(Lane::kNvmeRead)], 1);  // 5 to 6: the load waits for the disk
  EXPECT_DOUBLE_EQ(exposed[index(Lane::kH2d)], 1);       // 6 to 7: compute waits for the load
  EXPECT_DOUBLE_EQ(exposed[index(Lane::kD2h)], 1);       // 8 to 9: the host waits for the store
  EXPECT_DOUBLE_EQ(exposed[index(Lane::kHostCompute)], 1);
  EXPECT_DOUBLE_EQ(exposed[index(Lane::kNvmeWrite)], 0);  // hidden behind make_c and the move
  EXPECT_DOUBLE_EQ(exposed[index(Lane::kCompute)], 0);
  EXPECT_DOUBLE_EQ(timeline.busy_seconds(Lane::kCompute), 6);
}

TEST(Simulate, ChargesNothingForTimeInWhichNobodyWorked) {
  const Spill spill;
  const Plan plan = spill.plan();
  Timeline measured = simulate(spill.program, plan, seconds());
  measured.tasks[index(Lane::kCompute)][5] = {7.5, 8.5};  // compute woke half a second late
  EXPECT_DOUBLE_EQ(measured.exposed_seconds(plan)[index(Lane::kH2d)], 1);
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

TEST(Simulate, ThrowsWhereLanesDeadlock) {
  const Spill spill;
  Plan plan = spill.plan();
  plan.waits[plan.tasks[index(Lane::kD2h)][0].waits_begin].count = 6;
  EXPECT_THROW(simulate(spill.program, plan, seconds()), ContractViolation);
}

}  // namespace
}  // namespace ebbtide::plan_test
