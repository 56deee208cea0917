// What is predicted of a step, against its simulated programs.
#include "src/plan/prediction.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/hardware/known_machines.hpp"

namespace ebbtide::plan {
namespace {

Request small_request() {
  Request request;
  request.options.run.dtype = DType::kBf16;
  request.options.run.seq_len = 1024;
  request.options.memory.device_bytes = std::uint64_t{24} << 20;
  request.options.memory.host_bytes = std::uint64_t{48} << 20;
  request.machine = hardware::load_machine("rtx4090");
  return request;
}

TEST(ModelFlops, AreThoseOfMemo) {
  // 7B, 1M tokens: 9.07e17 (6 P s + 6 L h s^2).
  EXPECT_NEAR(model_flops(model::preset("llama2-7b"), 1 << 20), 9.07e17, 0.01e17);
}

TEST(Prediction, AddsTheProgramsOfAStep) {
  Request request = small_request();
  request.options.run.grad_accumulation = 4;
  const PlannedRun run = plan_run(request);
  ASSERT_TRUE(run.fits()) << run.why_not;
  ASSERT_EQ(run.step.size(), 4U);  // first, two alike, last, optimizer
  double seconds = 0;
  std::int64_t micro_steps = 0;
  std::uint64_t down = 0;
  for (const SimulatedProgram& program : run.step) {
    const auto times = static_cast<double>(program.times);
    seconds += times * program.timeline.step_seconds;
    down +=
        static_cast<std::uint64_t>(program.times) * program.plan->moved_bytes[index(Lane::kD2h)];
    if (program.name != "optimizer") micro_steps += program.times;
  }
  EXPECT_EQ(micro_steps, 4);
  const Prediction prediction = predict(run, request.options);
  EXPECT_DOUBLE_EQ(prediction.step_seconds, seconds);
  EXPECT_EQ(prediction.tokens, 4096);
  EXPECT_EQ(prediction.exposure.of(Lane::kD2h).bytes, down);
  EXPECT_GT(down, 0U);
  EXPECT_DOUBLE_EQ(prediction.mfu(),
                   4 * model_flops(run.config, 1024) / seconds / prediction.peak_flops_per_s);
}

// Compute is at work or stands still for a lane; nothing is counted twice.
TEST(Prediction, DividesTheStepIntoWorkAndWaiting) {
  const Request request = small_request();
  const PlannedRun run = plan_run(request);
  ASSERT_TRUE(run.fits()) << run.why_not;
  const Prediction prediction = predict(run, request.options);
  const double work = prediction.exposure.of(Lane::kCompute).busy_s;
  EXPECT_GT(prediction.exposed_seconds(), 0);
  EXPECT_NEAR(work + prediction.exposed_seconds(), prediction.step_seconds,
              1e-9 * prediction.step_seconds);
}

TEST(Prediction, IsToldOfEveryCandidate) {
  std::vector<train::Tried> told;
  const PlannedRun run =
      plan_run(small_request(), [&](const train::Tried& tried) { told.push_back(tried); });
  ASSERT_TRUE(run.fits());
  ASSERT_EQ(told.size(), run.tried.size());
  ASSERT_GT(told.size(), 1U);
  EXPECT_FALSE(told.front().fits);
  EXPECT_FALSE(told.front().why_not.empty());
  EXPECT_TRUE(std::ranges::any_of(told, &train::Tried::fits));
}

}  // namespace
}  // namespace ebbtide::plan
