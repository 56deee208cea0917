// The chunked fp32 step against the unchunked reference in double.
#include <gtest/gtest.h>

#include "tests/model/llama_run.hpp"

namespace ebbtide::testing {
namespace {

using model::ActivationMode;
using model::ActivationPolicy;
using model::ModelConfig;
using model::StepShape;

// fp32 sums of a few dozen terms in two layers: about 1e-6 of a tensor's size was seen.
constexpr double kGradientTolerance = 2e-5;
constexpr double kLossTolerance = 2e-6;

struct Case {
  std::string name;
  ModelConfig config;
  StepShape shape;
  model::SavedFraction saved_fraction = 1.0;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

Case make_case(std::string name, std::int64_t seq_len, std::int64_t chunk, std::int64_t group,
               model::SavedFraction saved_fraction = 1.0) {
  Case c{std::move(name), tiny_config(), {}, saved_fraction};
  c.shape.seq_len = seq_len;
  c.shape.chunk_tokens = chunk;
  c.shape.attention_group = group;
  return c;
}

std::vector<Case> cases() {
  std::vector<Case> all{
      make_case("ChunkDivides", 24, 8, 1),
      make_case("ChunkDoesNotDivide", 21, 8, 2),
      make_case("ChunkLongerThanSequence", 5, 8, 1),
      make_case("ChunkOfOneToken", 6, 1, 4),
      make_case("OneToken", 1, 4, 1),
      make_case("GroupOfFour", 37, 5, 4),
      make_case("SeveralLossTilesAChunk", 1100, 1024, 1),
      make_case("Recomputed", 21, 4, 2, 0),
      make_case("HalfRecomputed", 21, 4, 1, 0.5),
  };
  Case heads = make_case("OneKvHeadAHead", 21, 8, 2, 0.25);
  heads.config.kv_heads = heads.config.heads;
  all.push_back(heads);
  Case tied = make_case("Tied", 21, 8, 1);
  tied.config.embeddings = ModelConfig::Embeddings::kTied;
  all.push_back(tied);
  Case bias = make_case("Biased", 21, 8, 2, 0.5);
  bias.config.qkv_bias = ModelConfig::QkvBias::kBias;
  all.push_back(bias);
  Case norm = make_case("HeadNorms", 21, 8, 2);
  norm.config.qk_norm = ModelConfig::QkNorm::kPerHead;
  all.push_back(norm);
  norm.name = "HeadNormsRecomputedTied";
  norm.saved_fraction = 0;
  norm.config.embeddings = ModelConfig::Embeddings::kTied;
  all.push_back(norm);
  all.push_back(make_case("NormsRecomputed", 21, 8, 2, {0, 1, 1}));
  all.push_back(make_case("HeadsRecomputed", 21, 8, 2, {1, 0, 1}));
  all.push_back(make_case("MlpRecomputed", 21, 8, 2, {1, 1, 0}));
  all.push_back(make_case("PartsUneven", 29, 4, 2, {0.5, 0.25, 0.75}));
  norm.name = "HeadNormsPartsUneven";
  norm.saved_fraction = {0.25, 0.75, 0.5};
  all.push_back(norm);
  Case scaled = make_case("RopeScaled", 21, 8, 1);
  scaled.config.rope_scaling = {8.0, 1.0, 4.0, 8.0};
  all.push_back(scaled);
  Case wide = make_case("HeadsWiderThanHidden", 21, 8, 1);
  wide.config.head_dim = 12;
  all.push_back(wide);
  return all;
}

class LlamaNumbers : public ::testing::TestWithParam<Case> {};

TEST_P(LlamaNumbers, AgreeWithTheUnchunkedReference) {
  const Case& c = GetParam();
  const std::vector<Doubles> weights = random_weights(c.config, 3);
  const TrainingData data = random_data(c.shape.seq_len, c.config.vocab, 5);
  const ReferenceStep wanted = reference_step(c.config, weights, data.tokens, data.targets);
  LlamaRun run(c.config, c.shape);
  run.set_weights(weights);
  run.set_data(data);
  ActivationPolicy policy;
  policy.saved_fraction = c.saved_fraction;
  run.micro_step(policy);
  EXPECT_NEAR(run.loss(), wanted.loss, kLossTolerance * wanted.loss);
  const std::vector<model::Parameter> all = model::parameters(c.config);
  for (std::size_t p = 0; p < all.size(); ++p) {
    const double norm = std::sqrt(run.sum_of_squares(p));
    // one token attends to itself alone: nothing flows back through its scores
    const double size = relative_distance(Doubles(wanted.gradients[p].size()), wanted.gradients[p]);
    if (size == 0) continue;
    EXPECT_LT(relative_distance(run.gradient(p), wanted.gradients[p]), kGradientTolerance)
        << all[p].name;
    double square = 0;
    for (const float x : run.gradient(p)) square += static_cast<double>(x) * x;
    EXPECT_NEAR(norm * norm, square, 1e-12 * square) << all[p].name;
  }
  run.evaluate();
  EXPECT_NEAR(run.loss(), wanted.loss, kLossTolerance * wanted.loss);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LlamaNumbers, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace ebbtide::testing
