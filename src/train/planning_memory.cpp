#include "src/train/planning_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ebbtide/error.hpp"
#include "src/report/units.hpp"
#include "src/train/resolve_options.hpp"

namespace ebbtide::train {
namespace {

// Bytes an op. Measured as the resident peak of `train --dry-run` of the demo model in chunks of 64
// tokens, and as the bill's "programs and plans" (g: query chunks a pass over the keys):
//
//   chunks, g                 peak, kept of an op
//   512 and 1024, on device   296, 281 and 135, 140
//   512 and 1024, 8, on NVMe  454, 476 and 171, 188
//   512, 1, on NVMe           1420 and 440
//
// What is moved for a pair of chunks is moved once for g of them. On NVMe is where an op takes
// most: its operands pass three lanes.
constexpr double kPeakOfAnOp = 320;
constexpr double kPeakOfAMove = 1280;  // divided by g
constexpr double kKeptOfAnOp = 150;
constexpr double kKeptOfAMove = 320;  // divided by g
// Of a chunk in a layer, beside those of its pairs; loss and optimizer in it.
constexpr double kOpsOfAChunk = 60;
constexpr double kMostBytes = 9e18;  // a double that an integer still holds

double chunks_of(std::int64_t tokens, std::int64_t chunk_tokens) {
  return static_cast<double>((tokens - 1) / chunk_tokens + 1);
}

// Forward and backward have one op each for every pair of a chunk with itself or one before it.
double op_count(const model::ModelConfig& config, double chunks) {
  return static_cast<double>(config.layers) * chunks * (chunks + 1 + kOpsOfAChunk);
}

std::uint64_t to_bytes(double bytes) {
  return static_cast<std::uint64_t>(std::min(bytes, kMostBytes));
}

std::int64_t chunk_tokens_that_fit(const model::ModelConfig& config, TrainOptions options,
                                   std::int64_t evaluation_tokens, std::uint64_t memory_bytes) {
  std::int64_t chunk = resolve_shape(config, options).chunk_tokens;
  while (chunk < options.run.seq_len) {
    chunk = std::min(2 * chunk, options.run.seq_len);
    options.planning.chunk_tokens = chunk;
    if (planning_memory(config, options, evaluation_tokens).peak_bytes <= memory_bytes) break;
  }
  return chunk;
}

}  // namespace

PlanningMemory planning_memory(const model::ModelConfig& config, const TrainOptions& options,
                               std::int64_t evaluation_tokens) {
  const model::StepShape shape = resolve_shape(config, options);
  const double ops = op_count(config, chunks_of(shape.seq_len, shape.chunk_tokens));
  // The first, the middle and the last micro-step have plans of their own.
  const auto plans = static_cast<double>(std::min<std::int64_t>(options.run.micro_steps(), 3));
  double planned_ops = plans * ops;
  if (evaluation_tokens > 0)  // forward alone
    planned_ops += op_count(config, chunks_of(evaluation_tokens, shape.chunk_tokens)) / 2;
  const auto group = static_cast<double>(shape.attention_group);
  const double kept = kKeptOfAnOp + kKeptOfAMove / group;
  const double peak = kPeakOfAnOp + kPeakOfAMove / group;
  return {.kept_bytes = to_bytes(planned_ops * kept),
          .peak_bytes = to_bytes(planned_ops * kept + ops * (peak - kept))};
}

void check_planning_fits(const model::ModelConfig& config, const TrainOptions& options,
                         std::int64_t evaluation_tokens, const MachineLimits& limits) {
  const std::uint64_t need = planning_memory(config, options, evaluation_tokens).peak_bytes;
  if (need <= limits.memory_bytes) return;
  const model::StepShape shape = resolve_shape(config, options);
  const std::int64_t fits =
      chunk_tokens_that_fit(config, options, evaluation_tokens, limits.memory_bytes);
  throw Error(
      Errc::kDoesNotFit,
      fmt::format("--chunk-tokens {}: to plan {} tokens in {} chunks takes about {}, as "
                  "plans grow with the square of the chunks; {} has {}; --chunk-tokens {} "
                  "fits",
                  shape.chunk_tokens, shape.seq_len, shape.chunks(), report::bytes_text(need),
                  limits.memory_limited_by, report::bytes_text(limits.memory_bytes), fits));
}

}  // namespace ebbtide::train
