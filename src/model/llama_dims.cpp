#include "src/model/llama_dims.hpp"

#include <fmt/format.h>

#include "ebbtide/error.hpp"

namespace ebbtide::model {

std::int64_t loss_tile_tokens(std::int64_t vocab) {
  constexpr std::int64_t kLogitBytes = std::int64_t{64} << 20;
  constexpr std::int64_t kRowStep = 16;  // rows of a register tile: no ragged edge inside a chunk
  const std::int64_t fit = kLogitBytes / (vocab * 4) / kRowStep * kRowStep;
  return std::clamp(fit, kRowStep, kernels::kTokenBlock);
}

namespace {

void check_ranks(const ModelConfig& config, const StepShape& shape) {
  const RankShape& ranks = shape.ranks;
  EBBTIDE_CHECK(
      ranks.sequence_parallel >= 1 && ranks.data_parallel >= 1 && ranks.rank >= 0 &&
          ranks.rank < ranks.count(),
      fmt::format("rank {} of {} x {}", ranks.rank, ranks.sequence_parallel, ranks.data_parallel));
  if (ranks.sequence_parallel > config.heads)
    throw Error(Errc::kBadUsage, fmt::format("{} ranks a sequence: {} has {} heads to deal out",
                                             ranks.sequence_parallel, config.name, config.heads));
  const std::int64_t last = shape.seq_len - (shape.chunks() - 1) * shape.chunk_tokens;
  if (std::min(last, shape.chunk_tokens) < ranks.sequence_parallel)
    throw Error(Errc::kBadUsage,
                fmt::format("the last of {} chunks has {} tokens for {} ranks a sequence: another "
                            "chunk size or sequence length is needed",
                            shape.chunks(), last, ranks.sequence_parallel));
}

}  // namespace

StepDims step_dims(const ModelConfig& config, const StepShape& shape) {
  EBBTIDE_CHECK(shape.seq_len >= 1, fmt::format("sequence length {}", shape.seq_len));
  EBBTIDE_CHECK(shape.chunk_tokens >= 1, fmt::format("chunk of {} tokens", shape.chunk_tokens));
  EBBTIDE_CHECK(shape.attention_group >= 1,
                fmt::format("attention group {}", shape.attention_group));
  EBBTIDE_CHECK(shape.dtype == DType::kF32 || shape.dtype == DType::kBf16,
                fmt::format("dtype {}", name(shape.dtype)));
  EBBTIDE_CHECK(config.layers >= 1 && config.kv_heads >= 1 && config.heads % config.kv_heads == 0,
                fmt::format("{} layers, {} heads, {} KV heads", config.layers, config.heads,
                            config.kv_heads));
  check_ranks(config, shape);
  StepDims dims;
  dims.layers = config.layers;
  dims.hidden = config.hidden;
  dims.heads = config.heads;
  dims.kv_heads = config.kv_heads;
  dims.head_dim = config.head_dim;
  dims.ffn = config.ffn;
  dims.vocab = config.vocab;
  dims.seq_len = shape.seq_len;
  dims.chunk_tokens = shape.chunk_tokens;
  dims.attention_group = shape.attention_group;
  dims.loss_tile_tokens = loss_tile_tokens(config.vocab);
  dims.rms_epsilon = static_cast<float>(config.rms_epsilon);
  dims.rope_theta = config.rope_theta;
  dims.rope_scaling = config.rope_scaling;
  dims.dtype = shape.dtype;
  dims.ranks = shape.ranks;
  dims.rank_heads = head_share(config.heads, config.kv_heads, shape.ranks.sequence_parallel,
                               shape.ranks.sequence_rank());
  return dims;
}

}  // namespace ebbtide::model
