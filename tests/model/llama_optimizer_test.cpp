#include <gtest/gtest.h>

#include "tests/model/llama_run.hpp"

namespace ebbtide::testing {
namespace {

using model::ModelConfig;
using model::OptimizerScalars;
using model::ParameterRole;
using model::StepShape;

constexpr double kTargets = 20;  // one of 21 is ignored

StepShape shape_of(DType dtype) {
  return {21, 8, 1, dtype};
}

OptimizerScalars scalars() {
  OptimizerScalars s;
  s.target_count = kTargets;
  s.learning_rate = 1e-2F;
  s.weight_decay = 0.1F;
  return s;
}

LlamaRun stepped(const ModelConfig& config, DType dtype) {
  LlamaRun run(config, shape_of(dtype));
  run.set_weights(random_weights(config, 3));
  run.set_data(random_data(21, config.vocab, 5));
  run.micro_step();
  return run;
}

double norm_of_all(LlamaRun& run) {
  double sum = 0;
  for (std::size_t p = 0; p < run.parameter_count(); ++p)
    for (const float x : run.gradient(p)) sum += static_cast<double>(x) * x;
  return std::sqrt(sum);
}

// The first step of AdamW in double: m and v are the gradient's own, so the update is its sign
// where epsilon is small beside it.
double first_update(double w, double g, const OptimizerScalars& s, bool decays) {
  const double decayed = w * (1 - (decays ? double{s.learning_rate} * s.weight_decay : 0.0));
  return decayed - s.learning_rate * g / (std::abs(g) + s.epsilon);
}

void expect_first_update(const ModelConfig& config, const OptimizerScalars& s, double scale) {
  LlamaRun run = stepped(config, DType::kF32);
  const std::vector<Doubles> before = random_weights(config, 3);
  run.optimize(s);
  const std::vector<model::Parameter> all = model::parameters(config);
  for (std::size_t p = 0; p < all.size(); ++p) {
    const bool decays =
        all[p].role == ParameterRole::kMatrix || all[p].role == ParameterRole::kEmbedding;
    const std::vector<float> gradient = run.gradient(p);
    const std::vector<float> after = run.master(p);
    for (std::size_t i = 0; i < after.size(); ++i)
      EXPECT_NEAR(after[i], first_update(before[p][i], scale * gradient[i], s, decays), 2e-6)
          << all[p].name;
  }
}

TEST(LlamaOptimizer, TakesTheMeanGradientAndDecaysMatricesOnly) {
  ModelConfig config = tiny_config();
  config.qkv_bias = ModelConfig::QkvBias::kBias;
  expect_first_update(config, scalars(), 1 / kTargets);
}

TEST(LlamaOptimizer, WritesTheNormOfTheMeanGradient) {
  LlamaRun run = stepped(tiny_config(), DType::kF32);
  const double wanted = norm_of_all(run) / kTargets;
  run.optimize(scalars());
  EXPECT_NEAR(run.gradient_norm(), wanted, 1e-12 * wanted);
}

// epsilon is large, so that the update shows the gradient's size
TEST(LlamaOptimizer, ClipsToTheLimit) {
  LlamaRun run = stepped(tiny_config(), DType::kF32);
  OptimizerScalars s = scalars();
  s.epsilon = 1.0F;
  s.grad_clip = 0.25 * norm_of_all(run) / kTargets;
  expect_first_update(tiny_config(), s, 0.25 / kTargets);
}

TEST(LlamaOptimizer, DoesNotClipBelowTheLimit) {
  LlamaRun run = stepped(tiny_config(), DType::kF32);
  OptimizerScalars s = scalars();
  s.epsilon = 1.0F;
  s.grad_clip = 1.5 * norm_of_all(run) / kTargets;
  expect_first_update(tiny_config(), s, 1 / kTargets);
}

TEST(LlamaOptimizer, RoundsBf16WeightsFromTheirMasters) {
  LlamaRun run = stepped(tiny_config(), DType::kBf16);
  run.optimize(scalars());
  for (std::size_t p = 0; p < run.parameter_count(); ++p) {
    const std::vector<float> master = run.master(p);
    std::vector<std::uint16_t> wanted(master.size());
    std::transform(master.begin(), master.end(), wanted.begin(), round_to_bf16);
    EXPECT_EQ(run.bf16_weight(p), wanted);
  }
}

TEST(LlamaOptimizer, MovesNothingWithoutTargets) {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    LlamaRun run(tiny_config(), shape_of(dtype));
    run.set_weights(random_weights(tiny_config(), 3));
    TrainingData data = random_data(21, 40, 5);
    std::ranges::fill(data.targets, kernels::kIgnoredTarget);
    run.set_data(data);
    run.micro_step();
    std::vector<std::vector<float>> before;
    for (std::size_t p = 0; p < run.parameter_count(); ++p) before.push_back(run.master(p));
    OptimizerScalars s = scalars();
    s.target_count = 0;
    s.grad_clip = 1;
    run.optimize(s);
    EXPECT_EQ(run.gradient_norm(), 0.0);
    for (std::size_t p = 0; p < run.parameter_count(); ++p) {
      EXPECT_EQ(run.master(p), before[p]);
      if (dtype == DType::kF32) continue;
      EXPECT_EQ(run.bf16_weight(p)[0], round_to_bf16(before[p][0]));
    }
  }
}

}  // namespace
}  // namespace ebbtide::testing
