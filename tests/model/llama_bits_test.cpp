// One chunk size and dtype, one set of bits: whatever the attention group, the saved fraction and
// the number of threads.
#include <gtest/gtest.h>

#include "tests/model/llama_run.hpp"

namespace ebbtide::testing {
namespace {

using model::ActivationMode;
using model::ActivationPolicy;
using model::GradientStart;
using model::ModelConfig;
using model::StepShape;

struct Bits {
  double loss = 0;
  std::vector<std::vector<float>> gradients;
  std::vector<double> sums_of_squares;
  bool operator==(const Bits&) const = default;
};

Bits bits_of(LlamaRun& run) {
  Bits bits{run.loss(), {}, {}};
  for (std::size_t p = 0; p < run.parameter_count(); ++p) {
    bits.gradients.push_back(run.gradient(p));
    bits.sums_of_squares.push_back(run.sum_of_squares(p));
  }
  return bits;
}

// 6 chunks, the last one short; everything that a Llama may have.
ModelConfig rich_config() {
  ModelConfig config = tiny_config();
  config.embeddings = ModelConfig::Embeddings::kTied;
  config.qkv_bias = ModelConfig::QkvBias::kBias;
  config.qk_norm = ModelConfig::QkNorm::kPerHead;
  return config;
}
StepShape six_chunks(std::int64_t group, DType dtype) {
  return {43, 8, group, dtype};
}

struct Setting {
  std::int64_t group = 1;
  ActivationPolicy policy;
  int threads = 1;
};

Bits bits_with(const ModelConfig& config, DType dtype, const Setting& setting) {
  LlamaRun run(config, six_chunks(setting.group, dtype), setting.threads);
  run.set_weights(random_weights(config, 3));
  run.set_data(random_data(43, config.vocab, 5));
  run.micro_step(setting.policy);
  return bits_of(run);
}

ActivationPolicy saving(double fraction) {
  return {ActivationMode::kAuto, fraction, Reach::kAny};
}

class LlamaBits : public ::testing::TestWithParam<DType> {};

TEST_P(LlamaBits, DoNotDependOnGroupSavedFractionOrThreads) {
  const ModelConfig config = rich_config();
  const Bits wanted = bits_with(config, GetParam(), {});
  EXPECT_TRUE(std::isfinite(wanted.loss));
  for (const std::int64_t group : {1, 2, 4, 6, 9})
    for (const double fraction : {0.0, 0.25, 0.5, 0.75, 1.0})
      for (const int threads : {1, 2, 4}) {
        const Bits bits = bits_with(config, GetParam(), {group, saving(fraction), threads});
        EXPECT_TRUE(bits == wanted)
            << "group " << group << ", fraction " << fraction << ", " << threads << " threads";
      }
}

TEST_P(LlamaBits, DoNotDependOnTheMode) {
  const ModelConfig config = tiny_config();
  const Bits wanted = bits_with(config, GetParam(), {});
  for (const ActivationMode mode :
       {ActivationMode::kKeep, ActivationMode::kOffload, ActivationMode::kRecompute})
    EXPECT_TRUE(bits_with(config, GetParam(), {2, {mode, 1.0, Reach::kAny}, 2}) == wanted);
}

TEST_P(LlamaBits, DependOnTheData) {
  const ModelConfig config = tiny_config();
  const Bits wanted = bits_with(config, GetParam(), {});
  LlamaRun run(config, six_chunks(1, GetParam()));
  run.set_weights(random_weights(config, 3));
  run.set_data(random_data(43, config.vocab, 6));
  run.micro_step();
  EXPECT_FALSE(bits_of(run) == wanted);
}

// Chunks of more than one block of tokens, and products wide enough to be split.
TEST_P(LlamaBits, DoNotDependOnThreadsInLongChunks) {
  ModelConfig config = tiny_config();
  config.hidden = 96;
  config.head_dim = 32;
  config.ffn = 200;
  config.vocab = 300;
  const auto bits = [&](std::int64_t group, double fraction, int threads) {
    LlamaRun run(config, {1300, 600, group, GetParam()}, threads);
    run.set_weights(random_weights(config, 3));
    run.set_data(random_data(1300, config.vocab, 5));
    run.micro_step(saving(fraction));
    return bits_of(run);
  };
  const Bits wanted = bits(1, 1.0, 1);
  EXPECT_TRUE(bits(1, 1.0, 2) == wanted);
  EXPECT_TRUE(bits(2, 0.5, 3) == wanted);
  EXPECT_TRUE(bits(4, 0.0, 4) == wanted);
}

INSTANTIATE_TEST_SUITE_P(DTypes, LlamaBits, ::testing::Values(DType::kF32, DType::kBf16),
                         [](const auto& test) { return std::string(name(test.param)); });

// bf16 has 8 bits: gradients of two layers keep about two digits.
TEST(LlamaBf16, AgreesWithTheReferenceToItsPrecision) {
  const ModelConfig config = rich_config();
  std::vector<Doubles> weights = random_weights(config, 3);
  const TrainingData data = random_data(43, config.vocab, 5);
  LlamaRun run(config, six_chunks(2, DType::kBf16));
  run.set_weights(weights);
  run.set_data(data);
  run.micro_step();
  const ReferenceStep wanted = reference_step(config, weights, data.tokens, data.targets);
  EXPECT_NEAR(run.loss(), wanted.loss, 0.01 * wanted.loss);
  for (std::size_t p = 0; p < run.parameter_count(); ++p)
    EXPECT_LT(relative_distance(run.gradient(p), wanted.gradients[p]), 0.05)
        << model::parameters(config)[p].name;
}

TEST(LlamaAccumulation, AddsTheSecondMicroStepToTheFirst) {
  const ModelConfig config = rich_config();
  const std::vector<Doubles> weights = random_weights(config, 3);
  const TrainingData first = random_data(43, config.vocab, 5);
  const TrainingData second = random_data(43, config.vocab, 6);
  LlamaRun run(config, six_chunks(2, DType::kF32));
  run.set_weights(weights);
  run.set_data(first);
  run.micro_step();
  run.set_data(second);
  run.micro_step({}, GradientStart::kAdd);
  const ReferenceStep a = reference_step(config, weights, first.tokens, first.targets);
  const ReferenceStep b = reference_step(config, weights, second.tokens, second.targets);
  EXPECT_NEAR(run.loss(), b.loss, 2e-6 * b.loss);
  for (std::size_t p = 0; p < run.parameter_count(); ++p) {
    Doubles sum = a.gradients[p];
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b.gradients[p][i];
    EXPECT_LT(relative_distance(run.gradient(p), sum), 2e-5) << model::parameters(config)[p].name;
    double square = 0;
    for (const float x : run.gradient(p)) square += static_cast<double>(x) * x;
    EXPECT_NEAR(run.sum_of_squares(p), square, 1e-12 * square);
  }
}

TEST(LlamaAccumulation, AddsNothingFromAMicroStepWithoutTargets) {
  const ModelConfig config = rich_config();
  TrainingData ignored = random_data(43, config.vocab, 6);
  std::ranges::fill(ignored.targets, kernels::kIgnoredTarget);
  LlamaRun run(config, six_chunks(1, DType::kF32));
  run.set_weights(random_weights(config, 3));
  run.set_data(random_data(43, config.vocab, 5));
  run.micro_step();
  const Bits wanted = bits_of(run);
  run.set_data(ignored);
  run.micro_step({}, GradientStart::kAdd);
  EXPECT_EQ(run.loss(), 0.0);
  EXPECT_EQ(bits_of(run).gradients, wanted.gradients);
}

}  // namespace
}  // namespace ebbtide::testing
