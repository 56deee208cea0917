// One pair of causal attention by online softmax (Dao 2023, alg. 1).
//
// For a tile of queries, over tiles of keys in order: S = q k^T / sqrt(D); m' = max(m, rowmax S);
// P = exp(S - m'); l' = l exp(m - m') + rowsum P; O' = O exp(m - m') + P v. The state of earlier
// pairs enters as O = out, m = lse, l = 1; it leaves as out = O / l, lse = m + log l.
// 4 C Ck D flops a head. A block is one tile of queries of one head.
#include <cmath>
#include <limits>
#include <span>

#include "kernels/cpu/attention_tile.hpp"
#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/parts.hpp"

namespace ebbtide::kernels::cpu {
namespace {

constexpr std::int64_t kQueryTile = 128;
constexpr std::int64_t kKeyTile = 128;
constexpr std::int64_t kScoreStride = spread(kQueryTile);
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// A member's scratch, by parts; Dp is D in whole panels.
struct Tiles {
  Panels q;          // (kQueryTile, Dp), scaled
  Panels k;          // (kKeyTile, Dp)
  Panels v;          // (kKeyTile, Dp)
  float* q_columns;  // the transpose of q in panels
  float* scores;     // (kKeyTile, kScoreStride): S, then P
  float* out;        // (kQueryTile, Dp)
  float* maximum;    // (kQueryTile)
  float* sum;        // (kQueryTile)
  float* kept;       // (kQueryTile): exp(m - m')

  Tiles(Parts& parts, std::int64_t dim)
      : q(take_panels(parts, kQueryTile, dim)),
        k(take_panels(parts, kKeyTile, dim)),
        v(take_panels(parts, kKeyTile, dim)),
        q_columns(parts.take(kQueryTile * dim)),
        scores(parts.take(kKeyTile * kScoreStride)),
        out(parts.take(kQueryTile * dim)),
        maximum(parts.take(kQueryTile)),
        sum(parts.take(kQueryTile)),
        kept(parts.take(kQueryTile)) {}
};

struct Block {
  const AttentionForward& op;
  HeadSizes sizes;
  std::int64_t head;
  Range queries;

  std::int64_t padded_queries() const { return in_panels(queries.size()); }
};

void begin_state(const Block& b, const Tiles& t) {
  const std::int64_t dim = b.sizes.padded_dim();
  std::fill_n(t.out, b.queries.size() * dim, 0.0F);
  if (b.op.order == PairOrder::kFirst) {
    std::fill_n(t.maximum, b.padded_queries(), kMinusInfinity);
    std::fill_n(t.sum, b.padded_queries(), 0.0F);
    return;
  }
  load_column(b.op.lse, b.queries, b.head, t.maximum);
  std::fill_n(t.sum, b.padded_queries(), 1.0F);
  for (std::int64_t r = 0; r < b.queries.size(); ++r) {
    const float* out =
        data<float>(b.op.out) + (b.queries.begin + r) * b.op.out.cols + b.head * b.sizes.dim;
    std::copy_n(out, b.sizes.dim, t.out + r * dim);
  }
}

void end_state(const Block& b, const Tiles& t) {
  for (std::int64_t r = 0; r < b.queries.size(); ++r) {
    const std::int64_t row = b.queries.begin + r;
    const float inverse = 1.0F / t.sum[r];
    const float* from = t.out + r * b.sizes.padded_dim();
    float* out = data<float>(b.op.out) + row * b.op.out.cols + b.head * b.sizes.dim;
#pragma omp simd
    for (std::int64_t i = 0; i < b.sizes.dim; ++i) out[i] = from[i] * inverse;
    data<float>(b.op.lse)[row * b.sizes.heads + b.head] = t.maximum[r] + std::log(t.sum[r]);
  }
}

// The new maximum of each query, and the factor for what was summed under the old one.
void raise_maximum(const Block& b, std::int64_t keys, const Tiles& t) {
  const std::int64_t count = b.padded_queries();
  std::copy_n(t.maximum, count, t.kept);
  for (std::int64_t k = 0; k < keys; ++k) {
    const float* scores = t.scores + k * kScoreStride;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) t.maximum[i] = std::max(t.maximum[i], scores[i]);
  }
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    t.kept[i] = exponential(t.kept[i] - t.maximum[i]);
    t.sum[i] *= t.kept[i];
  }
}

void soften(const Block& b, std::int64_t keys, const Tiles& t) {
  const std::int64_t count = b.padded_queries();
  for (std::int64_t k = 0; k < keys; ++k) {
    float* scores = t.scores + k * kScoreStride;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      scores[i] = exponential(scores[i] - t.maximum[i]);
      t.sum[i] += scores[i];
    }
  }
}

void rescale_out(const Block& b, const Tiles& t) {
  const std::int64_t dim = b.sizes.padded_dim();
  for (std::int64_t r = 0; r < b.queries.size(); ++r) {
    float* out = t.out + r * dim;
#pragma omp simd
    for (std::int64_t i = 0; i < dim; ++i) out[i] *= t.kept[r];
  }
}

template <typename T>
void add_keys(const Block& b, Range keys, const Tiles& t) {
  const std::int64_t dim = b.sizes.padded_dim();
  const std::int64_t kv_head = b.sizes.kv_head(b.head);
  load_tile<T>(b.op.k, keys, kv_head, b.sizes.dim, 1.0F, t.k);
  load_tile<T>(b.op.v, keys, kv_head, b.sizes.dim, 1.0F, t.v);
  multiply_tile({.m = keys.size(),
                 .n = b.padded_queries(),
                 .k = dim,
                 .a = t.k.data,
                 .a_stride = kPanel,
                 .a_panel = t.k.panel(),
                 .b = t.q_columns,
                 .b_panel = dim * kPanel,
                 .c = t.scores,
                 .c_stride = kScoreStride});
  for (std::int64_t k = 0; k < keys.size(); ++k) {
    const std::int64_t hidden = hidden_queries(b.op.causality, b.queries, keys.begin + k);
    std::fill_n(t.scores + k * kScoreStride, hidden, kMinusInfinity);
  }
  raise_maximum(b, keys.size(), t);
  soften(b, keys.size(), t);
  rescale_out(b, t);
  multiply_tile({.m = b.queries.size(),
                 .n = dim,
                 .k = keys.size(),
                 .a_order = TileProduct::Order::kColumns,
                 .a = t.scores,
                 .a_stride = kScoreStride,
                 .b = t.v.data,
                 .b_panel = t.v.panel(),
                 .c = t.out,
                 .c_stride = dim,
                 .accumulate = Accumulate::kAdd});
}

template <typename T>
void run_block(const Block& b, std::span<float> scratch) {
  const HeadSizes& s = b.sizes;
  Parts parts(scratch);
  const Tiles t(parts, s.padded_dim());
  const float scale = 1.0F / std::sqrt(static_cast<float>(s.dim));
  load_tile<T>(b.op.q, b.queries, b.head, s.dim, scale, t.q);
  transpose_panels(t.q.data, t.q.panel(), b.padded_queries(), s.padded_dim(), t.q_columns,
                   s.padded_dim() * kPanel);
  begin_state(b, t);
  for (std::int64_t j = 0; j < block_count(s.keys, kKeyTile); ++j) {
    const Range keys = visible_keys(b.op.causality, b.queries, block_range(j, kKeyTile, s.keys));
    if (keys.size() == 0) break;
    add_keys<T>(b, keys, t);
  }
  end_state(b, t);
}

}  // namespace

void run(const AttentionForward& op, Team& team) {
  const HeadSizes s = head_sizes(op.q, op.k, op.head_dim, op.kv_group);
  check_shape(op.k, s.keys, s.kv_heads * s.dim, op.q.dtype);
  check_shape(op.v, s.keys, s.kv_heads * s.dim, op.q.dtype);
  check_shape(op.out, s.queries, s.heads * s.dim, DType::kF32);
  check_shape(op.lse, s.queries, s.heads, DType::kF32);
  const std::int64_t tiles = block_count(s.queries, kQueryTile);
  with_element(op.q.dtype, [&](auto element) {
    using T = decltype(element);
    // Late tiles see most keys: they begin first.
    team.for_each_block(s.heads * tiles, [&](std::int64_t i, int member) {
      const Range queries = block_range(tiles - 1 - i % tiles, kQueryTile, s.queries);
      run_block<T>({op, s, i / tiles, queries}, team.scratch<float>(member));
    });
  });
}

}  // namespace ebbtide::kernels::cpu
