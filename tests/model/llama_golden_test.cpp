// Against Hugging Face transformers and torch.optim.AdamW: values that scripts/make_golden.py made.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "src/model/safetensors.hpp"
#include "tests/model/llama_run.hpp"

namespace ebbtide::testing {
namespace {

using model::ModelConfig;
using model::SafetensorsFile;
using model::StepShape;

constexpr double kLossTolerance = 1e-5;    // relative
constexpr double kTensorTolerance = 1e-4;  // ||a - b|| / ||b||
// Of what three steps of AdamW changed, which is a thousandth of the weights; its elements are
// signs of gradients, so that those near zero show fp32's rounding.
constexpr double kChangeTolerance = 2e-3;
constexpr int kSteps = 3;

std::int64_t number(const SafetensorsFile& file, const std::string& key) {
  return std::stoll(file.metadata().at(key));
}

ModelConfig config_of(const SafetensorsFile& file) {
  ModelConfig config;
  config.name = "golden";
  config.layers = number(file, "layers");
  config.hidden = number(file, "hidden");
  config.heads = number(file, "heads");
  config.kv_heads = number(file, "kv_heads");
  config.head_dim = number(file, "head_dim");
  config.ffn = number(file, "ffn");
  config.vocab = number(file, "vocab");
  config.rms_epsilon = std::stod(file.metadata().at("rms_epsilon"));
  config.rope_theta = std::stod(file.metadata().at("rope_theta"));
  if (file.metadata().at("tied") == "True") config.embeddings = ModelConfig::Embeddings::kTied;
  return config;
}

Doubles tensor(const SafetensorsFile& file, const std::string& name) {
  std::vector<float> values(file.find(name)->count());
  file.read_floats(name, 0, values);
  return {values.begin(), values.end()};
}

std::vector<Doubles> tensors(const SafetensorsFile& file, const ModelConfig& config,
                             const std::string& prefix) {
  std::vector<Doubles> all;
  for (const model::Parameter& parameter : model::parameters(config))
    all.push_back(tensor(file, prefix + parameter.name));
  return all;
}

// Every token predicts the next one.
TrainingData data_of(const SafetensorsFile& file) {
  TrainingData data;
  data.tokens.resize(file.find("tokens")->count());
  file.read("tokens", 0, std::as_writable_bytes(std::span(data.tokens)));
  data.targets.assign(data.tokens.begin() + 1, data.tokens.end());
  data.targets.push_back(kernels::kIgnoredTarget);
  return data;
}

Doubles difference(const std::vector<float>& a, const Doubles& b) {
  Doubles d(b.size());
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = a[i] - b[i];
  return d;
}

class LlamaGolden : public ::testing::TestWithParam<std::string> {
 protected:
  LlamaGolden()
      : file_(std::filesystem::path(EBBTIDE_GOLDEN_DIR) / (GetParam() + ".safetensors")),
        config_(config_of(file_)),
        data_(data_of(file_)),
        start_(tensors(file_, config_, "weight.")),
        targets_(static_cast<double>(data_.targets.size() - 1)),
        run_(config_, StepShape{static_cast<std::int64_t>(data_.tokens.size()), 16, 2, {}}) {
    run_.set_weights(start_);
    run_.set_data(data_);
  }

  void train(float weight_decay) {
    model::OptimizerScalars scalars;
    scalars.target_count = targets_;
    scalars.learning_rate = 1e-4F;
    scalars.weight_decay = weight_decay;
    for (int i = 1; i <= kSteps; ++i) {
      scalars.step = i;
      run_.micro_step();
      run_.optimize(scalars);
    }
  }

  void expect_weights(const std::string& prefix) {
    const std::vector<Doubles> wanted = tensors(file_, config_, prefix);
    const std::vector<model::Parameter> all = model::parameters(config_);
    for (std::size_t p = 0; p < all.size(); ++p) {
      const std::vector<float> got = run_.master(p);
      EXPECT_LE(relative_distance(got, wanted[p]), kTensorTolerance) << all[p].name;
      Doubles change = wanted[p];
      for (std::size_t i = 0; i < change.size(); ++i) change[i] -= start_[p][i];
      EXPECT_LE(relative_distance(difference(got, start_[p]), change), kChangeTolerance)
          << all[p].name;
    }
  }

  SafetensorsFile file_;
  ModelConfig config_;
  TrainingData data_;
  std::vector<Doubles> start_;
  double targets_;
  LlamaRun run_;
};

TEST_P(LlamaGolden, LossAndGradientsAreThoseOfTransformers) {
  run_.micro_step();
  const double wanted = tensor(file_, "loss")[0];
  EXPECT_NEAR(run_.loss() / targets_, wanted, kLossTolerance * wanted);
  const std::vector<Doubles> gradients = tensors(file_, config_, "gradient.");
  for (std::size_t p = 0; p < gradients.size(); ++p) {
    std::vector<float> mean = run_.gradient(p);
    for (float& x : mean) x = static_cast<float>(x / targets_);
    EXPECT_LE(relative_distance(mean, gradients[p]), kTensorTolerance)
        << model::parameters(config_)[p].name;
  }
}

TEST_P(LlamaGolden, ThreeStepsAreThoseOfTorchAdamW) {
  train(0);
  expect_weights("decay-0.0.");
}

TEST_P(LlamaGolden, ThreeStepsWithDecayAreThoseOfTorchAdamW) {
  train(0.1F);
  expect_weights("decay-0.1.");
}

INSTANTIATE_TEST_SUITE_P(Models, LlamaGolden,
                         ::testing::Values("llama", "llama-gqa", "llama-tied", "llama-gqa-tied"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace ebbtide::testing
