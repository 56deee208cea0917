// Defaults of --chunk-tokens and --attention-group.

#include <bit>

#include "ebbtide/error.hpp"
#include "src/model/llama.hpp"

namespace ebbtide::model {
namespace {

std::int64_t floor_power_of_two(std::int64_t x) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(x)));
}

}  // namespace

// A chunk is the unit of moving and forgetting, so a sequence should have some 16 of them. It is
// also what a layer's weights are read for, and a product over fewer rows than kTokenBlock is bound
// by memory. Past 8K tokens a larger chunk gains nothing (SPPO finds 2K to 16K efficient on cards
// of 80 GB). The widest tensor of a chunk stays within 256 MiB, so that the dozen that an MLP's
// backward touches fit a few GiB.
//
// All this is said of a device: of S ranks a sequence, of each one's slice of the chunk.
std::int64_t auto_chunk_tokens(const ModelConfig& config, std::int64_t seq_len, DType dtype,
                               const RankShape& ranks) {
  EBBTIDE_CHECK(seq_len >= 1, "a sequence of no tokens");
  constexpr std::int64_t kChunksASequence = 16;
  constexpr std::int64_t kSmallest = kernels::kTokenBlock;
  constexpr std::int64_t kLargest = 8192;
  constexpr std::int64_t kWidestTensorBytes = std::int64_t{256} << 20;
  const std::int64_t width = std::max({config.ffn, config.hidden, config.heads * config.head_dim});
  const std::int64_t row_bytes = width * static_cast<std::int64_t>(dtype_bytes(dtype));
  const std::int64_t by_bytes =
      floor_power_of_two(std::max<std::int64_t>(kWidestTensorBytes / row_bytes, 1));
  const std::int64_t slices = kChunksASequence * ranks.sequence_parallel;
  const std::int64_t by_length = floor_power_of_two(std::max<std::int64_t>(seq_len / slices, 1));
  const std::int64_t slice = std::max(kSmallest, std::min({by_length, by_bytes, kLargest}));
  return std::min(slice * ranks.sequence_parallel, seq_len);
}

// One pass of g query chunks over the keys does g C (Q / G) multiply-adds for each byte of k and v
// that it loads, in 16 bits. 165 TFLOP/s at half efficiency over a link of 11 GB/s need 7.5K of
// them; backward, which moves fp32 dk and dv both ways besides, needs half as much again, and NVMe
// is two to four times slower than the link. 32K serve them all. More than 8 chunks in flight cost
// more device memory than the traffic that they still save (39 TiB a step at 1, 11 at 4, 6.7 at 8
// for 7B at 1M tokens).
std::int64_t auto_attention_group(const ModelConfig& config, const StepShape& shape) {
  constexpr std::int64_t kWantedReuse = 32768;
  constexpr std::int64_t kLargest = 8;
  const std::int64_t reuse = shape.chunk_tokens * (config.heads / config.kv_heads);
  const std::int64_t wanted = (kWantedReuse + reuse - 1) / reuse;
  return std::clamp<std::int64_t>(wanted, 1, std::min(kLargest, shape.chunks()));
}

}  // namespace ebbtide::model
