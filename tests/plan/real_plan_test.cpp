// Plans of the Llama step itself: the verifier takes them, and hardly any of their waits is idle.
#include <gtest/gtest.h>

#include "ebbtide/error.hpp"

#include <string>
#include <vector>

#include "ebbtide/timeline.hpp"
#include "src/model/llama.hpp"
#include "src/report/exposure.hpp"
#include "tests/plan/plan_builder.hpp"
#include "tests/plan/real_plan.hpp"

namespace ebbtide::plan_test {
namespace {

// Waits without which the plan would still be right.
std::vector<std::string> idle_waits(const RealPlan& made) {
  std::vector<std::string> idle;
  for (std::size_t wait = 0; wait < made.plan.waits.size(); ++wait)
    if (verify(made.program, without_wait(made.plan, wait)).ok())
      idle.push_back(describe_wait(made.plan, wait));
  return idle;
}

void expect_no_idle_wait(const RealPlan& made) {
  const Verdict verdict = verify(made.program, made.plan);
  ASSERT_TRUE(verdict.ok()) << name(verdict.fault) << ": " << verdict.message;
  ASSERT_GE(made.plan.waits.size(), 100U);
  const std::vector<std::string> idle = idle_waits(made);
  EXPECT_TRUE(idle.empty()) << ::testing::PrintToString(idle) << " of " << made.plan.waits.size();
}

TEST(RealPlan, NeedsEveryWaitWithActivationsOnTheHost) {
  const RealPlan made = plan_with_activations_on_the_host();
  EXPECT_GT(made.plan.moved_bytes[index(Lane::kH2d)], 0U);
  EXPECT_EQ(made.plan.moved_bytes[index(Lane::kNvmeWrite)], 0U);
  expect_no_idle_wait(made);
}

TEST(RealPlan, NeedsEveryWaitWithActivationsOnDisk) {
  const RealPlan made = plan_with_activations_on_disk();
  EXPECT_GT(made.plan.moved_bytes[index(Lane::kNvmeRead)], 0U);
  expect_no_idle_wait(made);
}

TEST(RealPlan, NeedsEveryWaitWithRecomputingAndStateOnDisk) {
  const RealPlan made = plan_with_recomputing_and_state_on_disk();
  expect_no_idle_wait(made);
}

TEST(RealPlan, RunsInVirtualTimeWithItsExposureAccountedFor) {
  const RealPlan made = plan_step({.mode = model::ActivationMode::kOffload, .reach = Reach::kNvme},
                                  Tier::kHost, 1, {});
  const Timeline timeline = simulate(made.program, made.plan, generic_cpu_hardware());
  const double exposed_s =
      report::exposure_of(made.program, made.plan, timeline, generic_cpu_hardware()).exposed_s();
  EXPECT_GT(timeline.step_seconds, 0);
  EXPECT_NEAR(exposed_s + timeline.busy_seconds(Lane::kCompute), timeline.step_seconds,
              1e-9 * timeline.step_seconds);
}

// Where the device has to slide its tenants and the host to spill, each waits for the other's room.
TEST(RealPlan, OfEveryPairOfDeviceAndHostBudgetsIsRightOrDoesNotFit) {
  const model::ModelConfig config = model::preset("demo");
  const model::StepShape shape{.seq_len = 4096, .chunk_tokens = 256, .dtype = DType::kF32};
  const model::ModelHomes homes =
      model::lay_out_homes(config, shape, {Tier::kNvme, Tier::kNvme, Tier::kNvme});
  const Program program = model::forward_backward_program(config, homes, {.shape = shape}, nullptr);
  const std::uint64_t smallest = smallest_device_budget(program);
  int planned = 0;
  for (const double times : {1.0, 1.03, 1.2, 1.6, 2.0, 3.0}) {
    const auto device_bytes = static_cast<std::uint64_t>(times * static_cast<double>(smallest));
    for (std::uint64_t host_mib = 1; host_mib <= 32; host_mib += host_mib < 8 ? 1 : 8) {
      const Budgets budgets{device_bytes, host_mib << 20, std::uint64_t{1} << 30};
      try {
        const Plan plan = make_plan(program, budgets, generic_cpu_hardware(), {});
        const Verdict verdict = verify(program, plan);
        EXPECT_TRUE(verdict.ok()) << times << ", " << host_mib << " MiB: " << verdict.message;
        ++planned;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), make_error_code(Errc::kDoesNotFit)) << error.what();
      }
    }
  }
  EXPECT_GE(planned, 40);
}

// 7B in chunks of 8K tokens, its weights, gradients and optimizer state on the host.
TEST(RealPlan, OfSevenBillionParametersFitsTheLargestOperandSumAndAllAboveIt) {
  const model::ModelConfig config = model::preset("llama2-7b");
  for (const std::int64_t tokens : {16384, 65536}) {
    const model::StepShape shape{.seq_len = tokens, .chunk_tokens = 8192, .dtype = DType::kBf16};
    const model::ModelHomes homes =
        model::lay_out_homes(config, shape, {Tier::kHost, Tier::kHost, Tier::kHost});
    const Program program =
        model::forward_backward_program(config, homes, {.shape = shape}, nullptr);
    const std::uint64_t smallest = smallest_device_budget(program);
    EXPECT_LE(static_cast<double>(smallest),
              1.05 * static_cast<double>(largest_operand_sum(program, Tier::kDevice)));
    for (const double times : {1.0, 1.01, 1.1, 1.7, 4.0, 24.0}) {
      const auto device_bytes = static_cast<std::uint64_t>(times * static_cast<double>(smallest));
      const Budgets budgets{device_bytes, std::uint64_t{1} << 40, 0};
      const Plan plan = make_plan(program, budgets, generic_cpu_hardware(), {});
      const Verdict verdict = verify(program, plan);
      EXPECT_TRUE(verdict.ok()) << tokens << " tokens, " << times << ": " << verdict.message;
    }
  }
}

}  // namespace
}  // namespace ebbtide::plan_test
