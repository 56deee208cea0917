// The shape of a Llama-family model, from a preset or a Hugging Face config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernels.hpp"

namespace ebbtide::model {

struct ModelConfig {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;    // H
  std::int64_t heads = 0;     // Q
  std::int64_t kv_heads = 0;  // G, divides heads
  std::int64_t head_dim = 0;  // D
  std::int64_t ffn = 0;       // F
  std::int64_t vocab = 0;     // V
  double rms_epsilon = 1e-5;
  double rope_theta = 10000.0;
  kernels::RopeScaling rope_scaling = {};
  std::int64_t max_positions = 0;  // 0: not stated
  double initializer_range = 0.02;
  enum class Embeddings : std::uint8_t { kUntied, kTied } embeddings = Embeddings::kUntied;
  enum class QkvBias : std::uint8_t { kNone, kBias } qkv_bias = QkvBias::kNone;
  enum class QkNorm : std::uint8_t { kNone, kPerHead } qk_norm = QkNorm::kNone;
  // gpt presets are for planning only: GELU, 4h, LayerNorm.
  enum class Use : std::uint8_t { kTrain, kPlanOnly } use = Use::kTrain;

  bool tied() const { return embeddings == Embeddings::kTied; }
};

// Throws Error(kBadUsage) that lists the presets.
ModelConfig preset(std::string_view name);
std::vector<std::string> preset_names();

// Throws Error(kBadFile) naming the key: untrusted input.
ModelConfig read_config(const std::filesystem::path& config_json);
// Text of a config.json that transformers' LlamaForCausalLM (Qwen2/Qwen3 where it has biases or
// QK-norm) reads.
std::string write_config(const ModelConfig& config, DType dtype);

}  // namespace ebbtide::model
