// Built-in shapes, each from the config.json of the model named beside it on huggingface.co.
#include <fmt/format.h>

#include <algorithm>

#include "ebbtide/error.hpp"
#include "src/model/config.hpp"

namespace ebbtide::model {
namespace {

using Embeddings = ModelConfig::Embeddings;
using QkvBias = ModelConfig::QkvBias;
using QkNorm = ModelConfig::QkNorm;

// meta-llama/Llama-2-7b-hf
ModelConfig llama2(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                   std::int64_t ffn) {
  return {.name = std::move(name),
          .layers = layers,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = heads,
          .head_dim = 128,
          .ffn = ffn,
          .vocab = 32000,
          .max_positions = 4096};
}

// meta-llama/Meta-Llama-3-8B
ModelConfig llama3(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                   std::int64_t ffn) {
  return {.name = std::move(name),
          .layers = layers,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = 8,
          .head_dim = 128,
          .ffn = ffn,
          .vocab = 128256,
          .rope_theta = 500000.0,
          .max_positions = 8192};
}

// meta-llama/Llama-3.1-8B
ModelConfig llama31_8b() {
  ModelConfig config = llama3("llama3.1-8b", 32, 4096, 32, 14336);
  config.max_positions = 131072;
  config.rope_scaling = {.factor = 8.0,
                         .low_frequency_factor = 1.0,
                         .high_frequency_factor = 4.0,
                         .original_context = 8192};
  return config;
}

// What the Qwen2.5 base models share.
ModelConfig qwen25(ModelConfig shape) {
  shape.rms_epsilon = 1e-6;
  shape.rope_theta = 1000000.0;
  shape.qkv_bias = QkvBias::kBias;
  return shape;
}

// Not a published model: a small Llama over bytes, for demos and tests.
ModelConfig demo() {
  return {.name = "demo",
          .layers = 4,
          .hidden = 256,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 64,
          .ffn = 688,
          .vocab = 256};
}

// TinyLlama/TinyLlama_v1.1
ModelConfig tinyllama() {
  return {.name = "tinyllama-1.1b",
          .layers = 22,
          .hidden = 2048,
          .heads = 32,
          .kv_heads = 4,
          .head_dim = 64,
          .ffn = 5632,
          .vocab = 32000,
          .max_positions = 2048};
}

// Qwen/Qwen2.5-0.5B
ModelConfig qwen25_05b() {
  return qwen25({.name = "qwen2.5-0.5b",
                 .layers = 24,
                 .hidden = 896,
                 .heads = 14,
                 .kv_heads = 2,
                 .head_dim = 64,
                 .ffn = 4864,
                 .vocab = 151936,
                 .max_positions = 32768,
                 .embeddings = Embeddings::kTied});
}

// Qwen/Qwen2.5-1.5B
ModelConfig qwen25_15b() {
  return qwen25({.name = "qwen2.5-1.5b",
                 .layers = 28,
                 .hidden = 1536,
                 .heads = 12,
                 .kv_heads = 2,
                 .head_dim = 128,
                 .ffn = 8960,
                 .vocab = 151936,
                 .max_positions = 131072,
                 .embeddings = Embeddings::kTied});
}

// Qwen/Qwen2.5-7B
ModelConfig qwen25_7b() {
  return qwen25({.name = "qwen2.5-7b",
                 .layers = 28,
                 .hidden = 3584,
                 .heads = 28,
                 .kv_heads = 4,
                 .head_dim = 128,
                 .ffn = 18944,
                 .vocab = 152064,
                 .max_positions = 131072});
}

// Qwen/Qwen3-8B
ModelConfig qwen3_8b() {
  return {.name = "qwen3-8b",
          .layers = 36,
          .hidden = 4096,
          .heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .ffn = 12288,
          .vocab = 151936,
          .rms_epsilon = 1e-6,
          .rope_theta = 1000000.0,
          .max_positions = 40960,
          .qk_norm = QkNorm::kPerHead};
}

// Shapes of Brown et al. 2020: heads of 128, feed-forward 4 x hidden; with the vocabulary of
// openai-community/gpt2.
ModelConfig gpt(std::string name, std::int64_t layers, std::int64_t hidden) {
  constexpr std::int64_t kHeadDim = 128;
  return {.name = std::move(name),
          .layers = layers,
          .hidden = hidden,
          .heads = hidden / kHeadDim,
          .kv_heads = hidden / kHeadDim,
          .head_dim = kHeadDim,
          .ffn = 4 * hidden,
          .vocab = 50257,
          .max_positions = 2048,
          .embeddings = Embeddings::kTied,
          .use = ModelConfig::Use::kPlanOnly};
}

std::vector<ModelConfig> presets() {
  return {demo(),
          llama2("llama2-7b", 32, 4096, 32, 11008),
          llama2("llama2-13b", 40, 5120, 40, 13824),  // meta-llama/Llama-2-13b-hf
          llama3("llama3-8b", 32, 4096, 32, 14336),
          llama31_8b(),
          llama3("llama3-70b", 80, 8192, 64, 28672),  // meta-llama/Meta-Llama-3-70B
          tinyllama(),
          qwen25_05b(),
          qwen25_15b(),
          qwen25_7b(),
          qwen3_8b(),
          gpt("gpt-7b", 32, 4096),    // table 2.1, "GPT-3 6.7B"
          gpt("gpt-13b", 40, 5120),   // layers and hidden as Llama's 13B
          gpt("gpt-65b", 80, 8192)};  // layers and hidden as Llama's 65B
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const ModelConfig& config : presets()) names.push_back(config.name);
  return names;
}

ModelConfig preset(std::string_view name) {
  const std::vector<ModelConfig> all = presets();
  const auto found = std::ranges::find(all, name, &ModelConfig::name);
  if (found != all.end()) return *found;
  std::string names;
  for (const ModelConfig& config : all) names += " " + config.name;
  throw Error(Errc::kBadUsage,
              fmt::format("no built-in model is named '{}'; there are:{}", name, names));
}

}  // namespace ebbtide::model
