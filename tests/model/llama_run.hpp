// A small Llama with random weights and data, whose programs run resident in memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "src/model/llama.hpp"
#include "tests/model/llama_reference.hpp"
#include "tests/model/run_resident.hpp"

namespace ebbtide::testing {

inline model::ModelConfig tiny_config() {
  model::ModelConfig config;
  config.name = "tiny";
  config.layers = 2;
  config.hidden = 16;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 8;
  config.ffn = 24;
  config.vocab = 40;
  return config;
}

struct TrainingData {
  std::vector<std::uint32_t> tokens;
  std::vector<std::uint32_t> targets;
};

inline TrainingData random_data(std::int64_t seq_len, std::int64_t vocab, std::uint32_t seed) {
  std::mt19937 random(seed);
  TrainingData data;
  for (std::int64_t t = 0; t < seq_len; ++t) {
    data.tokens.push_back(random() % static_cast<std::uint32_t>(vocab));
    data.targets.push_back(random() % static_cast<std::uint32_t>(vocab));
  }
  if (seq_len > 3) data.targets[2] = kernels::kIgnoredTarget;
  return data;
}

// Norm weights near one, the rest normal with a deviation that keeps every gradient alive.
inline std::vector<Doubles> random_weights(const model::ModelConfig& config, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 0.2);
  std::vector<Doubles> weights;
  for (const model::Parameter& parameter : model::parameters(config)) {
    const double mean = parameter.role == model::ParameterRole::kNormWeight ? 1.0 : 0.0;
    Doubles& w = weights.emplace_back(static_cast<std::size_t>(parameter.count()));
    // rounded to fp32, so that the reference and the kernels start from the same numbers
    for (double& x : w) x = static_cast<float>(mean + normal(random));
  }
  return weights;
}

inline std::uint16_t round_to_bf16(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

class LlamaRun {
 public:
  LlamaRun(const model::ModelConfig& config, const model::StepShape& shape, int threads = 1,
           const model::StatePlacement& placement = {})
      : config_(config),
        shape_(shape),
        kernels_(kernels::make_cpu_kernels({threads})),
        layout_(model::lay_out_homes(config, shape, placement)),
        homes_(layout_.layout) {}

  void set_weights(const std::vector<Doubles>& weights) {
    for (std::size_t p = 0; p < weights.size(); ++p) {
      const model::ParameterHomes& to = layout_.parameters[p];
      std::span<float> master = homes_.as<float>(to.master);
      std::copy(weights[p].begin(), weights[p].end(), master.begin());
      if (shape_.dtype == DType::kBf16) {
        std::span<std::uint16_t> rounded = homes_.as<std::uint16_t>(to.weight);
        std::transform(master.begin(), master.end(), rounded.begin(), round_to_bf16);
      }
      std::ranges::fill(homes_.as<float>(to.m), 0.0F);
      std::ranges::fill(homes_.as<float>(to.v), 0.0F);
    }
  }
  void set_data(const TrainingData& data) {
    for (std::size_t t = 0; t < data.tokens.size(); ++t) {
      const auto chunk = t / static_cast<std::size_t>(shape_.chunk_tokens);
      const auto row = t % static_cast<std::size_t>(shape_.chunk_tokens);
      homes_.as<std::uint32_t>(layout_.tokens[chunk])[row] = data.tokens[t];
      homes_.as<std::uint32_t>(layout_.targets[chunk])[row] = data.targets[t];
    }
  }
  void micro_step(const model::ActivationPolicy& policy = {},
                  model::GradientStart start = model::GradientStart::kZero) {
    model::MicroStep micro;
    micro.shape = shape_;
    micro.activations = policy;
    micro.gradients = start;
    run_resident(model::forward_backward_program(config_, layout_, micro, kernels_), homes_);
  }
  void evaluate() {
    run_resident(model::evaluation_program(config_, layout_, shape_, kernels_), homes_);
  }
  void set_scalars(const model::OptimizerScalars& scalars) {
    std::memcpy(homes_.at(layout_.scalars).data(), &scalars, sizeof scalars);
  }
  void optimize(const model::OptimizerScalars& scalars) {
    set_scalars(scalars);
    run_resident(model::optimizer_program(config_, layout_, shape_.dtype, kernels_), homes_);
  }

  double loss() { return homes_.as<double>(layout_.loss)[0]; }
  double gradient_norm() { return homes_.as<double>(layout_.gradient_norm)[0]; }
  double sum_of_squares(std::size_t p) { return homes_.as<double>(layout_.sums_of_squares[p])[0]; }
  std::vector<float> gradient(std::size_t p) { return copy(layout_.parameters[p].gradient); }
  std::vector<float> master(std::size_t p) { return copy(layout_.parameters[p].master); }
  std::vector<std::uint16_t> bf16_weight(std::size_t p) {
    const std::span<std::uint16_t> from = homes_.as<std::uint16_t>(layout_.parameters[p].weight);
    return {from.begin(), from.end()};
  }
  std::size_t parameter_count() const { return layout_.parameters.size(); }
  const model::ModelConfig& config() const { return config_; }
  const model::ModelHomes& layout() const { return layout_; }
  const model::SharedKernels& kernels() const { return kernels_; }
  ResidentHomes& homes() { return homes_; }

 private:
  std::vector<float> copy(const Home& home) {
    const std::span<float> from = homes_.as<float>(home);
    return {from.begin(), from.end()};
  }

  model::ModelConfig config_;
  model::StepShape shape_;
  model::SharedKernels kernels_;
  model::ModelHomes layout_;
  ResidentHomes homes_;
};

// ||a - b|| / ||b||
template <typename A, typename B>
double relative_distance(const std::vector<A>& a, const std::vector<B>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    difference += d * d;
    size += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return size == 0 ? std::sqrt(difference) : std::sqrt(difference / size);
}

}  // namespace ebbtide::testing
