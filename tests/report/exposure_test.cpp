// Which lane and which cause each second is charged to, on a plan written by hand.
#include "src/report/exposure.hpp"

#include <gtest/gtest.h>

#include "tests/plan/spill.hpp"

namespace ebbtide::report {
namespace {

using plan_test::Spill;

// Every op, move, copy of a Spill takes one second, a transfer to or from disk two.
HardwareModel seconds() {
  HardwareModel model;
  model.device_flops_per_s = model.host_flops_per_s = 1e6;
  model.device_memory_bytes_per_s = model.host_memory_bytes_per_s = 400;
  model.d2h = model.h2d = {200, 0};
  model.nvme_write = model.nvme_read = {100, 0};
  return model;
}

struct Spilled {
  Spill spill;
  Plan plan = spill.plan();
  Timeline timeline = simulate(spill.program, plan, seconds());

  Exposure exposure() const { return exposure_of(spill.program, plan, timeline, seconds()); }
};

TEST(Exposure, ChargesStandstillToTheLaneAtWork) {
  const Exposure exposure = Spilled().exposure();
  EXPECT_DOUBLE_EQ(exposure.of(Lane::kNvmeRead).exposed_s, 1);  // 5 to 6: the load waits for it
  EXPECT_DOUBLE_EQ(exposure.of(Lane::kH2d).exposed_s, 1);       // 6 to 7: compute waits for it
  EXPECT_DOUBLE_EQ(exposure.of(Lane::kD2h).exposed_s, 1);       // 8 to 9: the host waits for it
  EXPECT_DOUBLE_EQ(exposure.of(Lane::kHostCompute).exposed_s, 1);
  EXPECT_DOUBLE_EQ(exposure.of(Lane::kNvmeWrite).exposed_s, 0);  // hidden behind make_c and move
  EXPECT_DOUBLE_EQ(exposure.of(Lane::kNvmeWrite).hidden_s(), 2);
  EXPECT_DOUBLE_EQ(exposure.of(Lane::kCompute).exposed_s, 0);
  EXPECT_DOUBLE_EQ(exposure.of(Lane::kCompute).busy_s, 6);
  EXPECT_DOUBLE_EQ(exposure.idle_s(Lane::kNvmeRead), 8);
}

// The read follows its own write at once, and the load the read: no earlier issue would help.
TEST(Exposure, ChargesWhatCouldNotHaveBeenEarlierToRates) {
  const Exposure exposure = Spilled().exposure();
  EXPECT_DOUBLE_EQ(
      exposure.causes[index(Cause::kDiskRate)] + exposure.causes[index(Cause::kLinkRate)], 3);
  EXPECT_DOUBLE_EQ(exposure.causes[index(Cause::kHostOptimizer)], 1);
  EXPECT_DOUBLE_EQ(exposure.still_s(), 4);
}

TEST(Exposure, ChargesTimeInWhichNobodyWorkedToDispatch) {
  Spilled spilled;
  spilled.timeline.tasks[ebbtide::index(Lane::kCompute)][5] = {7.5,
                                                               8.5};  // woke half a second late
  const Exposure exposure = spilled.exposure();
  EXPECT_DOUBLE_EQ(exposure.of(Lane::kH2d).exposed_s, 1);
  EXPECT_DOUBLE_EQ(exposure.causes[index(Cause::kDispatch)], 0.5);
}

TEST(Exposure, OfAStepCountsWhatLiesBetweenItsRuns) {
  const Spilled spilled;
  StepRecord step{.step_seconds = 25, .data_seconds = 3, .runs = {}};
  for (const double start_s : {4.0, 15.0})
    step.runs.push_back(
        {"spill", &spilled.spill.program, &spilled.plan, start_s, spilled.timeline});
  const Exposure exposure = exposure_of(step, seconds());
  EXPECT_DOUBLE_EQ(exposure.causes[index(Cause::kData)], 3);
  EXPECT_DOUBLE_EQ(exposure.causes[index(Cause::kDispatch)], 2);
  EXPECT_DOUBLE_EQ(exposure.causes[index(Cause::kHostOptimizer)], 2);
  EXPECT_DOUBLE_EQ(exposure.still_s() + exposure.of(Lane::kCompute).busy_s, 25);
}

// Value i of a Spill is of layer i; a move makes room for the op after it.
TEST(Exposure, IsToldByTheLayerOfWhatStoodStill) {
  const Exposure exposure = Spilled().exposure();
  EXPECT_DOUBLE_EQ(exposure.layers.at(0).compute_s, 1);  // make a
  EXPECT_DOUBLE_EQ(exposure.layers.at(1).compute_s, 4);  // make b, the move, use c, use a
  EXPECT_DOUBLE_EQ(exposure.layers.at(1).still_s, 2);    // before use a
  EXPECT_DOUBLE_EQ(exposure.layers.at(2).compute_s, 1);  // make c
  EXPECT_DOUBLE_EQ(exposure.layers.at(-1).still_s, 2);   // the end of the step
}

}  // namespace
}  // namespace ebbtide::report
