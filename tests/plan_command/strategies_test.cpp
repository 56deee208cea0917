// The closed forms against the formulas of papers, and against each other; published_test.cpp holds
// them against what was published.
#include "src/plan/strategies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace ebbtide::plan {
namespace {

constexpr double kGibibyte = 1 << 30;

TEST(LayerTensors, OfALlamaLayerAreThoseOfTheFormula) {
  const model::ModelConfig config = model::preset("llama3-8b");
  const double elements = 6.0 * 4096 + 2.0 * 1024 + 3.0 * 14336;
  EXPECT_EQ(skeletal_bytes(config, 1, DType::kBf16), 2 * elements * 32);
}

// 34 b s h with dropout's two masks; 5 a s / h beside it (Korthikanti et al., equation 1).
TEST(LayerTensors, WithScoresAreThoseOfKorthikanti) {
  const model::ModelConfig config = model::preset("gpt-7b");
  const double s = 2048;
  const double h = 4096;
  const double layer = skeletal_bytes(config, s, DType::kBf16) / 32;
  EXPECT_EQ(layer + 2 * s * h + score_bytes(config, s, DType::kBf16),
            s * h * (34 + 5 * 32 * s / h));
}

TEST(LayerTensors, CountLogitsOfAllTokensInFp32) {
  EXPECT_NEAR(logit_bytes(model::preset("llama3-8b"), 16000) / kGibibyte, 7.65, 0.01);
}

class Strategies : public testing::Test {
 protected:
  StrategyBill named(const std::string& name, double ranks) const {
    const std::vector<StrategyBill> all = strategies({config_, 8192, DType::kBf16, ranks});
    const auto found = std::ranges::find(all, name, &StrategyBill::name);
    if (found == all.end()) throw std::runtime_error("no strategy " + name);
    return *found;
  }
  const model::ModelConfig config_ = model::preset("gpt-7b");
  const double parameters_ = parameter_counts(config_).all;
};

// ZeRO, figure 1.
TEST_F(Strategies, DivideTheStateAsZeroDoes) {
  const auto state = [&](const std::string& name) {
    const StrategyBill bill = named(name, 64);
    return bill.device_bytes(Part::kWeights) + bill.device_bytes(Part::kGradients) +
           bill.device_bytes(Part::kOptimizer);
  };
  EXPECT_DOUBLE_EQ(state("data parallel"), 16 * parameters_);
  EXPECT_DOUBLE_EQ(state("ZeRO-1"), (4 + 12.0 / 64) * parameters_);
  EXPECT_DOUBLE_EQ(state("ZeRO-2"), (2 + 14.0 / 64) * parameters_);
  EXPECT_DOUBLE_EQ(state("ZeRO-3"), 16.0 / 64 * parameters_);
}

// Korthikanti et al., equations 2 and 4, less dropout's masks: s h (8 + 24 / t) and 32 s h / t.
TEST_F(Strategies, DivideActivationsAsTensorAndSequenceParallelismDo) {
  const double lse = 4.0 * 32 * 8192 * 32;
  const double token_layers = 8192.0 * 4096 * 32;
  EXPECT_DOUBLE_EQ(named("tensor parallel", 8).device_bytes(Part::kActivations),
                   token_layers * (8 + 24.0 / 8) + lse / 8);
  EXPECT_DOUBLE_EQ(named("tensor and sequence parallel", 8).device_bytes(Part::kActivations),
                   token_layers * 32 / 8 + lse / 8);
}

TEST_F(Strategies, KeepAsManyLayersInTheFirstStageHoweverManyStages) {
  const double of_two = named("pipeline parallel, first stage", 2).device_bytes(Part::kActivations);
  EXPECT_DOUBLE_EQ(named("pipeline parallel, first stage", 8).device_bytes(Part::kActivations),
                   of_two);
  EXPECT_DOUBLE_EQ(of_two, named("data parallel", 1).device_bytes(Part::kActivations));
}

TEST_F(Strategies, HaveTheStateOnTheHostUnderZeroInfinity) {
  const StrategyBill bill = named("ZeRO-3, state and inputs on the host", 8);
  EXPECT_EQ(bill.device_bytes(Part::kWeights) + bill.device_bytes(Part::kOptimizer), 0);
  EXPECT_DOUBLE_EQ(bill.host_bytes(), 2 * parameters_ + 2.0 * 8192 * 4096 * 32 / 8);
}

TEST_F(Strategies, KeepLayerInputsAndOneLayerUnderFullRecompute) {
  const StrategyBill bill = named("ZeRO-3, full recompute", 1);
  EXPECT_EQ(bill.device_bytes(Part::kActivations), 2.0 * 8192 * 4096 * 32);
  const double two_layers = 2 * 2 * parameter_counts(config_).layer;
  EXPECT_DOUBLE_EQ(bill.device_bytes(Part::kBuffers),
                   two_layers + 32.0 * 8192 * 4096 + 4.0 * 32 * 8192);
}

// Korthikanti et al. 2022, section 5: what is stored is the input, 2 s h / t a layer.
TEST_F(Strategies, KeepASliceOfTheInputsUnderRecomputeWithTensorParallelism) {
  const StrategyBill bill = named("tensor, sequence parallel, recompute", 8);
  EXPECT_EQ(bill.device_bytes(Part::kActivations), 2.0 * 8192 * 4096 * 32 / 8);
  EXPECT_EQ(bill.device_bytes(Part::kBuffers), (32.0 * 8192 * 4096 + 4.0 * 32 * 8192) / 8);
  EXPECT_EQ(bill.recompute, Recompute::kFull);
}

// 8 h: what stands between the MLP's tiles; of the layer nothing is 4 h wide.
TEST_F(Strategies, HaveNeitherLogitsNorAnMlpInTiles) {
  const StrategyBill whole = named("ZeRO-3, state and inputs on the host", 8);
  const StrategyBill tiled = named("the same, loss and MLP in tiles", 8);
  EXPECT_EQ(tiled.device_bytes(Part::kLogits), 0);
  EXPECT_EQ(whole.device_bytes(Part::kBuffers) - tiled.device_bytes(Part::kBuffers),
            2.0 * 8 * 4096 * 8192 / 8);
  EXPECT_EQ(whole.host_bytes(), tiled.host_bytes());
}

TEST_F(Strategies, SayWhatTheyRecompute) {
  EXPECT_EQ(named("ZeRO-3", 8).recompute, Recompute::kNone);
  EXPECT_EQ(named("ZeRO-3, selective recompute, not fused", 8).recompute, Recompute::kAttention);
  EXPECT_EQ(named("ZeRO-3, full recompute", 8).recompute, Recompute::kFull);
  EXPECT_EQ(named("ZeRO-3, recompute, inputs on the host", 8).recompute, Recompute::kFull);
}

// 12 h^2 a layer and the embedding; norms beside it are little.
TEST(ParameterCounts, OfGptAreThoseThatItsModelsAreNamedAfter) {
  for (const auto& [name, billions] :
       {std::pair{"gpt-7b", 6.65}, std::pair{"gpt-13b", 12.84}, std::pair{"gpt-65b", 64.84}})
    EXPECT_NEAR(parameter_counts(model::preset(name)).all / 1e9, billions, 0.01) << name;
}

}  // namespace
}  // namespace ebbtide::plan
