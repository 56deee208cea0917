// One of many ranks of a small Llama: homes with its shards and its slices of random data, and its
// programs, to be run in memory or under a plan.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "tests/model/llama_run.hpp"
#include "tests/model/rank_world.hpp"

namespace ebbtide::testing {

struct RankSetting {
  model::ModelConfig config;
  model::StepShape shape;  // of any of the ranks
  model::ActivationPolicy policy;
  model::StatePlacement placement = {};
};

constexpr std::uint32_t kRankWeightsSeed = 3;

// The data of sequence s.
inline TrainingData data_of_sequence(const RankSetting& setting, std::int64_t s) {
  return random_data(setting.shape.seq_len, setting.config.vocab, static_cast<std::uint32_t>(s));
}

class RankPart {
 public:
  RankPart(const RankSetting& setting, std::int64_t rank)
      : setting_(setting),
        kernels_(kernels::make_cpu_kernels({1})),
        layout_(lay_out(setting_, rank)),
        homes_(layout_.layout) {
    set_weights();
    set_data(data_of_sequence(setting_, rank / setting_.shape.ranks.sequence_parallel));
  }

  Program backward_program(const OpFunction& comm,
                           model::GradientStart start = model::GradientStart::kZero) const {
    model::MicroStep micro;
    micro.shape = setting_.shape;
    micro.activations = setting_.policy;
    micro.gradients = start;
    return model::forward_backward_program(setting_.config, layout_, micro, kernels_, comm);
  }
  void backward(const OpFunction& comm) { run_resident(backward_program(comm), homes_); }
  void two_micro_steps(const OpFunction& comm) {
    backward(comm);
    run_resident(backward_program(comm, model::GradientStart::kAdd), homes_);
  }
  void evaluate(const OpFunction& comm) {
    run_resident(
        model::evaluation_program(setting_.config, layout_, setting_.shape, kernels_, comm),
        homes_);
  }
  void optimize(const model::OptimizerScalars& scalars) {
    std::memcpy(homes_.at(layout_.scalars).data(), &scalars, sizeof scalars);
    run_resident(model::optimizer_program(setting_.config, layout_, setting_.shape.dtype, kernels_),
                 homes_);
  }

  double loss() { return homes_.as<double>(layout_.loss)[0]; }
  double norm() { return homes_.as<double>(layout_.gradient_norm)[0]; }
  std::span<float> gradient(std::size_t p) {
    return homes_.as<float>(layout_.parameters[p].gradient);
  }
  std::span<float> master(std::size_t p) { return homes_.as<float>(layout_.parameters[p].master); }
  const model::ModelHomes& layout() const { return layout_; }
  ResidentHomes& homes() { return homes_; }

 private:
  // Sets the rank in the setting, too.
  static model::ModelHomes lay_out(RankSetting& setting, std::int64_t rank) {
    setting.shape.ranks.rank = rank;
    return model::lay_out_homes(setting.config, setting.shape, setting.placement);
  }

  void set_weights() {
    const std::vector<Doubles> weights = random_weights(setting_.config, kRankWeightsSeed);
    for (std::size_t p = 0; p < weights.size(); ++p) {
      const model::ParameterHomes& to = layout_.parameters[p];
      for (const Home& home : {to.master, to.m, to.v})
        std::ranges::fill(homes_.as<float>(home), 0.0F);
      const std::span<float> shard = homes_.as<float>(to.master);
      const std::size_t begin = static_cast<std::size_t>(setting_.shape.ranks.rank) * shard.size();
      for (std::size_t i = 0; i < shard.size() && begin + i < weights[p].size(); ++i)
        shard[i] = static_cast<float>(weights[p][begin + i]);
      if (setting_.shape.dtype != DType::kBf16) continue;
      std::ranges::transform(shard, homes_.as<std::uint16_t>(to.weight).begin(), round_to_bf16);
    }
  }
  void set_data(const TrainingData& data) {
    const model::StepShape& shape = setting_.shape;
    for (std::int64_t c = 0; c < shape.chunks(); ++c) {
      const std::int64_t first = c * shape.chunk_tokens;
      const std::int64_t rows = std::min(shape.chunk_tokens, shape.seq_len - first);
      const model::Share slice =
          model::share(rows, shape.ranks.sequence_parallel, shape.ranks.sequence_rank());
      copy(data.tokens, first + slice.begin, layout_.tokens[static_cast<std::size_t>(c)]);
      copy(data.targets, first + slice.begin, layout_.targets[static_cast<std::size_t>(c)]);
    }
  }
  void copy(const std::vector<std::uint32_t>& from, std::int64_t begin, const Home& to) {
    const std::span<std::uint32_t> slice = homes_.as<std::uint32_t>(to);
    std::copy_n(from.begin() + begin, slice.size(), slice.begin());
  }

  RankSetting setting_;
  model::SharedKernels kernels_;
  model::ModelHomes layout_;
  ResidentHomes homes_;
};

}  // namespace ebbtide::testing
