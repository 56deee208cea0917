// The sizes of a Llama step by name, and where each of its parameters stands in parameters().
// Letters as in kernels.hpp; n is the number of chunks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/model/llama.hpp"

namespace ebbtide::model {

struct StepDims {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;
  std::int64_t vocab = 0;
  std::int64_t seq_len = 0;
  std::int64_t chunk_tokens = 0;
  std::int64_t attention_group = 1;
  std::int64_t loss_tile_tokens = 0;
  float rms_epsilon = 1e-5F;
  double rope_theta = 10000.0;
  kernels::RopeScaling rope_scaling;
  DType dtype = DType::kF32;
  RankShape ranks;
  HeadShare rank_heads;  // of this rank inside attention

  std::int64_t q_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  std::int64_t chunks() const { return (seq_len + chunk_tokens - 1) / chunk_tokens; }
  // Of the rank's heads.
  std::int64_t rank_q_width() const { return rank_heads.q.count * head_dim; }
  std::int64_t rank_kv_width() const { return rank_heads.kv.count * head_dim; }
  // Tokens of chunk c, over all ranks.
  std::int64_t chunk_rows(std::int64_t c) const {
    return std::min(chunk_tokens, seq_len - c * chunk_tokens);
  }
  // The rank's tokens of chunk c, from the chunk's start.
  Share slice(std::int64_t c) const {
    return share(chunk_rows(c), ranks.sequence_parallel, ranks.sequence_rank());
  }
  std::int64_t rows(std::int64_t c) const { return slice(c).count; }
};
// Throws ContractViolation for lengths or sizes below 1.
StepDims step_dims(const ModelConfig& config, const StepShape& shape);

// Throws Error(kBadUsage) for kernels with a model that is for planning only.
void require_trainable(const ModelConfig& config, const SharedKernels& kernels);

// Tokens whose logits are held at once: at most kTokenBlock, and 64 MiB of fp32 logits.
std::int64_t loss_tile_tokens(std::int64_t vocab);

// A parameter's part in its layer.
enum class Slot : std::uint8_t {
  kInputNorm,
  kQ,
  kQBias,
  kK,
  kKBias,
  kV,
  kVBias,
  kQNorm,
  kKNorm,
  kO,
  kPostNorm,
  kGate,
  kUp,
  kDown,
};
inline constexpr std::size_t kSlotCount = 14;

// Index of every parameter in parameters(config): embedding, layers, final norm, head.
class ParameterMap {
 public:
  explicit ParameterMap(const ModelConfig& config);
  bool has(Slot slot) const { return offset_[static_cast<std::size_t>(slot)] >= 0; }
  // Requires has(slot).
  std::size_t at(std::int64_t layer, Slot slot) const;
  std::size_t embedding() const { return 0; }
  std::size_t final_norm() const { return 1 + layers_ * per_layer_; }
  // The embedding when they are tied.
  std::size_t head() const { return tied_ ? embedding() : final_norm() + 1; }
  std::size_t first_of(std::int64_t layer) const {
    return 1 + static_cast<std::size_t>(layer) * per_layer_;
  }
  std::size_t per_layer() const { return per_layer_; }

 private:
  std::array<std::int32_t, kSlotCount> offset_{};
  std::size_t layers_ = 0;
  std::size_t per_layer_ = 0;
  bool tied_ = false;
};

// "q weight", "q bias", "embedding", ...: a parameter's name in bills and messages.
std::string_view label(Slot slot);
std::string parameter_label(const ModelConfig& config, std::size_t parameter);

}  // namespace ebbtide::model
