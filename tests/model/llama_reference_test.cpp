// The reference against central differences: what the chunked programs are compared with is right.
#include "tests/model/llama_reference.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/model/llama_run.hpp"

namespace ebbtide::testing {
namespace {

// With h = 1e-5 the truncation error is about h^2, the rounding error about 1e-16 / h.
constexpr double kStep = 1e-5;
constexpr double kTolerance = 2e-7;

void expect_central_differences(const model::ModelConfig& config) {
  const TrainingData data = random_data(5, config.vocab, 11);
  std::vector<Doubles> weights = random_weights(config, 7);
  const ReferenceStep step = reference_step(config, weights, data.tokens, data.targets);
  const std::vector<model::Parameter> all = model::parameters(config);
  for (std::size_t p = 0; p < all.size(); ++p)
    // every element of small tensors, a stride of large ones
    for (std::size_t i = 0; i < weights[p].size(); i += 1 + weights[p].size() / 12) {
      const double x = weights[p][i];
      weights[p][i] = x + kStep;
      const double above = reference_loss(config, weights, data.tokens, data.targets);
      weights[p][i] = x - kStep;
      const double below = reference_loss(config, weights, data.tokens, data.targets);
      weights[p][i] = x;
      EXPECT_NEAR(step.gradients[p][i], (above - below) / (2 * kStep), kTolerance)
          << all[p].name << " [" << i << "]";
    }
}

TEST(LlamaReference, AgreesWithCentralDifferences) {
  expect_central_differences(tiny_config());
}

TEST(LlamaReference, AgreesWithCentralDifferencesTiedWithBiasesAndHeadNorms) {
  model::ModelConfig config = tiny_config();
  config.embeddings = model::ModelConfig::Embeddings::kTied;
  config.qkv_bias = model::ModelConfig::QkvBias::kBias;
  config.qk_norm = model::ModelConfig::QkNorm::kPerHead;
  expect_central_differences(config);
}

TEST(LlamaReference, GivesLogOfVocabularyForUniformLogits) {
  const model::ModelConfig config = tiny_config();
  std::vector<Doubles> weights = random_weights(config, 7);
  std::ranges::fill(weights.back(), 0.0);  // the head
  const TrainingData data = random_data(3, config.vocab, 11);
  EXPECT_NEAR(reference_loss(config, weights, data.tokens, data.targets), 3 * std::log(40.0),
              1e-12);
}

}  // namespace
}  // namespace ebbtide::testing
