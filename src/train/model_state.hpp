// Weights, master weights and moments as they lie in an engine's homes, read and written in blocks
// between runs, so that no more than a block is ever held outside the tiers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ebbtide/engine.hpp"
#include "kernels/kernels.hpp"
#include "src/model/llama.hpp"

namespace ebbtide::train {

// A page-aligned part of a home.
Home part_of(const Home& home, std::uint64_t offset_bytes, std::uint64_t size_bytes);

class ModelState {
 public:
  // Requires that all outlive it; `kernels` run on the host.
  ModelState(Engine& engine, const model::ModelConfig& config, const model::ModelHomes& homes,
             DType dtype, kernels::Kernels& kernels);

  // Fills values with elements [first, first + values.size()) of a parameter or its moment.
  using FloatSource = std::function<void(const model::Parameter& parameter, std::int64_t first,
                                         std::span<float> values)>;
  // Sets every copy of the weights: the master and, rounded to dtype, what the step reads.
  void set_weights(const FloatSource& source);
  void set_means(const FloatSource& source);    // AdamW's m
  void set_squares(const FloatSource& source);  // AdamW's v
  void clear_moments();

  // Of the weights that the step reads, in the order of parameters(). Blocks.
  std::uint64_t weights_xxh3();

  void read(const Home& home, std::uint64_t offset_bytes, std::span<std::byte> out);
  const std::vector<model::Parameter>& parameters() const { return parameters_; }
  const model::ModelHomes& homes() const { return homes_; }
  DType dtype() const { return dtype_; }
  // Whether the master is a copy of its own.
  bool has_master() const { return dtype_ != DType::kF32; }

 private:
  using HomeOf = Home model::ParameterHomes::*;
  void set(HomeOf home, const FloatSource& source);
  void write_floats(const Home& home, std::int64_t first, std::span<const float> values);
  void write_rounded(const Home& home, std::int64_t first, std::span<const float> values);

  Engine& engine_;
  const model::ModelHomes& homes_;
  DType dtype_;
  kernels::Kernels& kernels_;
  std::vector<model::Parameter> parameters_;
  std::vector<float> block_;
  std::vector<std::byte> rounded_;
};

}  // namespace ebbtide::train
