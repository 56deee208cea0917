// What strategies compute, against the formulas of the papers that count it.
#include "src/plan/strategy_time.hpp"

#include <gtest/gtest.h>

#include "src/hardware/known_machines.hpp"
#include "src/hardware/rank_view.hpp"
#include "src/plan/prediction.hpp"

namespace ebbtide::plan {
namespace {

const model::ModelConfig kModel = model::preset("llama3.1-8b");
constexpr double kParameters = 8030261248;
constexpr double kTokens = 1e6;
constexpr double kSquares = 32 * 4096 * kTokens * kTokens;  // L h s^2

TEST(SequenceWork, IsThatOfTheModelWhereNothingIsRecomputed) {
  const StepWork work = sequence_work(kModel, kTokens, Recompute::kNone);
  EXPECT_DOUBLE_EQ(work.matmul_flops, 6 * kParameters * kTokens);
  EXPECT_DOUBLE_EQ(work.attention_flops, 6 * kSquares);
  EXPECT_DOUBLE_EQ(work.matmul_flops + work.attention_flops, model_flops(kModel, 1000000));
}

// ALST (arXiv 2506.13996v1) counts 8 P s + 16 L h s^2, without the causal mask.
TEST(SequenceWork, IsThatOfAlstUnderFullRecompute) {
  const StepWork work = sequence_work(kModel, kTokens, Recompute::kFull);
  EXPECT_DOUBLE_EQ(work.matmul_flops + 2 * work.attention_flops,
                   8 * kParameters * kTokens + 16 * kSquares);
}

TEST(SequenceWork, RepeatsAttentionAloneUnderSelectiveRecompute) {
  const StepWork work = sequence_work(kModel, kTokens, Recompute::kAttention);
  EXPECT_DOUBLE_EQ(work.matmul_flops, 6 * kParameters * kTokens);
  EXPECT_DOUBLE_EQ(work.attention_flops, 8 * kSquares);
}

TEST(ComputeSeconds, AreThoseOfBothKindsOfWorkOverTheRanks) {
  const StepWork work{.matmul_flops = 6e15, .attention_flops = 4e15};
  EXPECT_DOUBLE_EQ(compute_seconds(work, {1e14, 2e14}, 1), 80);
  EXPECT_DOUBLE_EQ(compute_seconds(work, {1e14, 2e14}, 8), 10);
}

TEST(ComputeSpeed, IsThatOfLargeOpsOfTheMachine) {
  const ComputeSpeed speed =
      compute_speed(hardware::hardware_of(hardware::load_machine("h100x8"), DType::kBf16, 8));
  EXPECT_DOUBLE_EQ(speed.matmul_flops_per_s, 0.7 * 989.4e12);
  EXPECT_DOUBLE_EQ(speed.attention_flops_per_s, 0.35 * 989.4e12);
  const HardwareModel cpu = generic_cpu_hardware();  // of which no class is known
  EXPECT_EQ(compute_speed(cpu).attention_flops_per_s, cpu.device_flops_per_s);
}

}  // namespace
}  // namespace ebbtide::plan
