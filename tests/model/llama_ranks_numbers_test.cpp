// The programs of many ranks, run side by side, give what the program of one rank gives.
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>

#include "tests/model/llama_run.hpp"
#include "tests/model/rank_part.hpp"

namespace ebbtide::testing {
namespace {

using model::RankShape;

struct Setting {
  const char* name;
  std::int64_t sequence_parallel;
  std::int64_t data_parallel;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t group = 2;
  model::SavedFraction saved_fraction = 1.0;
  bool tied = false;
  bool extras = false;  // QK-norm and biases
  DType dtype = DType::kF32;
};
std::ostream& operator<<(std::ostream& out, const Setting& setting) {
  return out << setting.name;
}

// 37 tokens in chunks of 10: slices and the last chunk are uneven.
model::StepShape shape_of(const Setting& setting, const RankShape& ranks) {
  return {37, 10, setting.group, setting.dtype, ranks};
}

model::ModelConfig config_of(const Setting& setting) {
  model::ModelConfig config = tiny_config();
  config.layers = 3;
  config.heads = setting.heads;
  config.kv_heads = setting.kv_heads;
  config.vocab = 41;  // shards are padded
  if (setting.tied) config.embeddings = model::ModelConfig::Embeddings::kTied;
  if (setting.extras) {
    config.qk_norm = model::ModelConfig::QkNorm::kPerHead;
    config.qkv_bias = model::ModelConfig::QkvBias::kBias;
  }
  return config;
}

model::ActivationPolicy policy_of(const Setting& setting) {
  return {model::ActivationMode::kAuto, setting.saved_fraction, Reach::kAny};
}

RankSetting setting_of(const Setting& setting) {
  return {config_of(setting),
          shape_of(setting, {setting.sequence_parallel, setting.data_parallel, 0}),
          policy_of(setting)};
}

model::OptimizerScalars scalars() {
  model::OptimizerScalars made;
  made.target_count = 60;
  made.grad_clip = 0.01;
  made.learning_rate = 1e-2F;
  made.weight_decay = 0.1F;
  return made;
}

// One rank: a micro-step a sequence, then the optimizer.
class AlonePart {
 public:
  explicit AlonePart(const Setting& setting) : run_(config_of(setting), shape_of(setting, {})) {
    run_.set_weights(random_weights(run_.config(), kRankWeightsSeed));
    for (std::int64_t s = 0; s < setting.data_parallel; ++s) {
      run_.set_data(data_of_sequence(setting_of(setting), s));
      run_.micro_step(policy_of(setting),
                      s == 0 ? model::GradientStart::kZero : model::GradientStart::kAdd);
      loss += run_.loss();
    }
    for (std::size_t p = 0; p < run_.parameter_count(); ++p) gradients.push_back(run_.gradient(p));
    run_.optimize(scalars());
    for (std::size_t p = 0; p < run_.parameter_count(); ++p) masters.push_back(run_.master(p));
    norm = run_.gradient_norm();
  }

  double loss = 0;
  double norm = 0;
  std::vector<std::vector<float>> gradients;
  std::vector<std::vector<float>> masters;

 private:
  LlamaRun run_;
};

class Together {
 public:
  explicit Together(const Setting& setting)
      : world(setting.sequence_parallel * setting.data_parallel) {
    for (std::int64_t r = 0; r < setting.sequence_parallel * setting.data_parallel; ++r)
      ranks.push_back(std::make_unique<RankPart>(setting_of(setting), r));
  }
  void run(void (RankPart::*what)(const OpFunction&)) {
    world.run([&](std::int64_t r) { (part(r).*what)(world.collectives_of(r)); });
  }
  RankPart& part(std::int64_t r) { return *ranks[static_cast<std::size_t>(r)]; }

  // The parameter's shards, one after another, padding cut off and seen to be zero.
  std::vector<float> joined(std::span<float> (RankPart::*state)(std::size_t), std::size_t p,
                            std::size_t count) {
    std::vector<float> all;
    for (const auto& rank : ranks) {
      const std::span<float> shard = ((*rank).*state)(p);
      all.insert(all.end(), shard.begin(), shard.end());
    }
    for (std::size_t i = count; i < all.size(); ++i) EXPECT_EQ(all[i], 0.0F) << i;
    all.resize(count);
    return all;
  }

  RankWorld world;
  std::vector<std::unique_ptr<RankPart>> ranks;
};

class LlamaOfRanks : public ::testing::TestWithParam<Setting> {};

TEST_P(LlamaOfRanks, GivesTheNumbersOfOne) {
  AlonePart alone(GetParam());
  Together together(GetParam());
  const bool fp32 = GetParam().dtype == DType::kF32;
  const double tolerance = fp32 ? 2e-5 : 2e-2;
  together.run(&RankPart::backward);
  for (const auto& rank : together.ranks) rank->optimize(scalars());
  for (const auto& rank : together.ranks) {
    EXPECT_NEAR(rank->loss() / alone.loss, 1, fp32 ? 1e-6 : 1e-3);
    EXPECT_NEAR(rank->norm() / alone.norm, 1, fp32 ? 1e-5 : 1e-2);
  }
  for (std::size_t p = 0; p < alone.gradients.size(); ++p) {
    const std::vector<float>& right = alone.gradients[p];
    EXPECT_LT(relative_distance(together.joined(&RankPart::gradient, p, right.size()), right),
              tolerance)
        << p;
    EXPECT_LT(
        relative_distance(together.joined(&RankPart::master, p, right.size()), alone.masters[p]),
        tolerance)
        << p;
  }
}

TEST_P(LlamaOfRanks, EvaluatesToTheLossOfOne) {
  AlonePart alone(GetParam());
  Together together(GetParam());
  together.run(&RankPart::evaluate);
  const double tolerance = GetParam().dtype == DType::kF32 ? 1e-6 : 1e-3;
  for (const auto& rank : together.ranks) EXPECT_NEAR(rank->loss() / alone.loss, 1, tolerance);
}

TEST_P(LlamaOfRanks, AddsALaterMicroStepToTheShards) {
  AlonePart alone(GetParam());
  Together together(GetParam());
  together.run(&RankPart::two_micro_steps);
  const double tolerance = GetParam().dtype == DType::kF32 ? 2e-5 : 2e-2;
  for (std::size_t p = 0; p < alone.gradients.size(); ++p) {
    std::vector<float> twice = alone.gradients[p];
    for (float& x : twice) x *= 2;
    EXPECT_LT(relative_distance(together.joined(&RankPart::gradient, p, twice.size()), twice),
              tolerance)
        << p;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Settings, LlamaOfRanks,
    ::testing::Values(
        Setting{"TwoRanks", 2, 1, 4, 2}, Setting{"FourRanks", 4, 1, 4, 2},
        Setting{"ReplicatedUneven", 4, 1, 7, 1}, Setting{"KvHeadsOfTwoRanks", 4, 1, 14, 2},
        Setting{"SharedAcrossAGroup", 4, 1, 6, 2, 1}, Setting{"Recomputed", 3, 1, 6, 2, 1, 0.5},
        Setting{"TiedWithNormsAndBiases", 2, 1, 6, 3, 3, 0.3, true, true},
        Setting{"DataParallel", 1, 3, 4, 2}, Setting{"PartsUneven", 2, 1, 4, 2, 2, {0, 0.75, 0.25}},
        Setting{"BothParallel", 2, 2, 4, 2, 2, 0.5, true, true}, Setting{"OneGroup", 2, 1, 4, 2, 4},
        Setting{"Bf16", 4, 1, 6, 2, 2, 0.5, false, true, DType::kBf16}),
    [](const auto& setting) { return setting.param.name; });

}  // namespace
}  // namespace ebbtide::testing
