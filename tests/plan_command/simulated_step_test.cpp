// A planned step as a record: the shape that a measured one has.
#include "src/plan/simulated_step.hpp"

#include <gtest/gtest.h>

#include "src/hardware/known_machines.hpp"

namespace ebbtide::plan {
namespace {

// Five micro-steps: a first, three alike, a last; then the optimizer.
PlannedRun planned_run() {
  Request request;
  request.options.run.dtype = DType::kBf16;
  request.options.run.seq_len = 1024;
  request.options.run.grad_accumulation = 5;
  request.options.memory.device_bytes = std::uint64_t{24} << 20;
  request.options.memory.host_bytes = std::uint64_t{48} << 20;
  request.machine = hardware::load_machine("rtx4090");
  return plan_run(request);
}

TEST(SimulatedStep, HasEveryRunWithoutAPause) {
  const PlannedRun run = planned_run();
  ASSERT_TRUE(run.fits()) << run.why_not;
  const report::StepRecord record = simulated_step(run);
  EXPECT_EQ(record.step, 0);
  EXPECT_EQ(record.data_seconds, 0);
  EXPECT_DOUBLE_EQ(record.step_seconds, run.step_seconds());
  ASSERT_EQ(record.runs.size(), 6U);
  EXPECT_EQ(record.runs.back().name, "optimizer");
  double start_s = 0;
  for (const report::ProgramRun& part : record.runs) {
    EXPECT_DOUBLE_EQ(part.start_s, start_s);
    start_s += part.timeline.step_seconds;
    for (std::size_t lane = 0; lane < kLaneCount; ++lane)
      EXPECT_EQ(part.timeline.tasks[lane].size(), part.plan->tasks[lane].size());
  }
  EXPECT_DOUBLE_EQ(start_s, record.step_seconds);
}

TEST(SimulatedStep, KeepsTheTimeOfRunsThatItLeavesOut) {
  const PlannedRun run = planned_run();
  ASSERT_TRUE(run.fits()) << run.why_not;
  const report::StepRecord all = simulated_step(run);
  const report::StepRecord some = simulated_step(run, 1);
  ASSERT_EQ(some.runs.size(), 4U);
  EXPECT_EQ(some.step_seconds, all.step_seconds);
  EXPECT_EQ(some.runs[1].start_s, all.runs[1].start_s);
  EXPECT_EQ(some.runs[2].start_s, all.runs[4].start_s);
  EXPECT_EQ(some.runs[3].start_s, all.runs[5].start_s);
}

}  // namespace
}  // namespace ebbtide::plan
