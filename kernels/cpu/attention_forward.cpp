// One pair of causal attention by online softmax (Dao 2023, alg. 1).
//
// For a tile of queries, over tiles of keys in order: S = q k^T / sqrt(D); m' = max(m, rowmax S);
// P = exp(S - m'); l' = l exp(m - m') + rowsum P; O' = O exp(m - m') + P v. The state of earlier
// pairs enters as O = out, m = lse, l = 1; it leaves as out = O / l, lse = m + log l.
// 4 C Ck D flops a head. A block is one tile of queries of one head.
#include <cmath>

#include "kernels/cpu/attention_tile.hpp"
#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/product.hpp"

namespace ebbtide::kernels::cpu {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// A member's scratch, by parts.
struct Tiles {
  float* q;        // (kQueryTile, D), scaled
  float* k;        // (kKeyTile, D)
  float* v;        // (kKeyTile, D)
  float* scores;   // (kQueryTile, kKeyTile)
  float* out;      // (kQueryTile, D)
  float* maximum;  // (kQueryTile)
  float* sum;      // (kQueryTile)

  Tiles(float* at, std::int64_t dim) {
    const auto take = [&at](std::int64_t count) { return std::exchange(at, at + count); };
    q = take(kQueryTile * dim);
    k = take(kKeyTile * dim);
    v = take(kKeyTile * dim);
    scores = take(kQueryTile * kKeyTile);
    out = take(kQueryTile * dim);
    maximum = take(kQueryTile);
    sum = take(kQueryTile);
  }
};

void begin_state(const AttentionForward& op, const HeadSizes& s, std::int64_t head, Range queries,
                 const Tiles& t) {
  if (op.order == PairOrder::kFirst) {
    std::fill_n(t.out, queries.size() * s.dim, 0.0F);
    std::fill_n(t.maximum, queries.size(), kMinusInfinity);
    std::fill_n(t.sum, queries.size(), 0.0F);
    return;
  }
  load_tile<float>(op.out, queries, head, s.dim, 1.0F, t.out);
  std::fill_n(t.sum, queries.size(), 1.0F);
  const float* lse = data<float>(op.lse) + head;
  for (std::int64_t r = 0; r < queries.size(); ++r) {
    t.maximum[r] = lse[(queries.begin + r) * s.heads];
  }
}

void end_state(const AttentionForward& op, const HeadSizes& s, std::int64_t head, Range queries,
               const Tiles& t) {
  for (std::int64_t r = 0; r < queries.size(); ++r) {
    const std::int64_t row = queries.begin + r;
    const float inverse = 1.0F / t.sum[r];
    float* out = data<float>(op.out) + row * op.out.cols + head * s.dim;
#pragma omp simd
    for (std::int64_t i = 0; i < s.dim; ++i) out[i] = t.out[r * s.dim + i] * inverse;
    data<float>(op.lse)[row * s.heads + head] = t.maximum[r] + std::log(t.sum[r]);
  }
}

// Turns a row of scores into weights relative to the new maximum; rescales what came before.
void soften_row(float* scores, std::int64_t visible, std::int64_t count, float& maximum, float& sum,
                float* out, std::int64_t dim) {
  float top = maximum;
#pragma omp simd reduction(max : top)
  for (std::int64_t i = 0; i < visible; ++i) top = std::max(top, scores[i]);
  float added = 0;
#pragma omp simd reduction(+ : added)
  for (std::int64_t i = 0; i < visible; ++i) {
    scores[i] = exponential(scores[i] - top);
    added += scores[i];
  }
  std::fill(scores + visible, scores + count, 0.0F);
  if (top == maximum) {
    sum += added;
    return;
  }
  const float kept = exponential(maximum - top);
  maximum = top;
  sum = sum * kept + added;
#pragma omp simd
  for (std::int64_t i = 0; i < dim; ++i) out[i] *= kept;
}

template <typename T>
void add_keys(const AttentionForward& op, const HeadSizes& s, std::int64_t kv_head, Range queries,
              Range keys, const Tiles& t) {
  load_tile<T>(op.k, keys, kv_head, s.dim, 1.0F, t.k);
  load_tile<T>(op.v, keys, kv_head, s.dim, 1.0F, t.v);
  multiply({.m = queries.size(),
            .n = keys.size(),
            .k = s.dim,
            .a = t.q,
            .lda = s.dim,
            .b = t.k,
            .ldb = s.dim,
            .b_layout = Layout::kTransposed,
            .c = t.scores,
            .ldc = kKeyTile});
  for (std::int64_t r = 0; r < queries.size(); ++r) {
    soften_row(t.scores + r * kKeyTile, visible_keys(op.causality, queries.begin + r, keys),
               keys.size(), t.maximum[r], t.sum[r], t.out + r * s.dim, s.dim);
  }
  multiply({.m = queries.size(),
            .n = s.dim,
            .k = keys.size(),
            .a = t.scores,
            .lda = kKeyTile,
            .b = t.v,
            .ldb = s.dim,
            .c = t.out,
            .ldc = s.dim,
            .accumulate = Accumulate::kAdd});
}

template <typename T>
void run_block(const AttentionForward& op, const HeadSizes& s, std::int64_t head, Range queries,
               float* scratch) {
  const Tiles t(scratch, s.dim);
  const float scale = 1.0F / std::sqrt(static_cast<float>(s.dim));
  load_tile<T>(op.q, queries, head, s.dim, scale, t.q);
  begin_state(op, s, head, queries, t);
  for (std::int64_t j = 0; j < block_count(s.keys, kKeyTile); ++j) {
    const Range keys = block_range(j, kKeyTile, s.keys);
    if (visible_keys(op.causality, queries.end - 1, keys) == 0) break;
    add_keys<T>(op, s, head / s.group(), queries, keys, t);
  }
  end_state(op, s, head, queries, t);
}

}  // namespace

void run(const AttentionForward& op, Team& team) {
  const HeadSizes s = head_sizes(op.q, op.k, op.head_dim);
  check_shape(op.k, s.keys, s.kv_heads * s.dim, op.q.dtype);
  check_shape(op.v, s.keys, s.kv_heads * s.dim, op.q.dtype);
  check_shape(op.out, s.queries, s.heads * s.dim, DType::kF32);
  check_shape(op.lse, s.queries, s.heads, DType::kF32);
  const std::int64_t tiles = block_count(s.queries, kQueryTile);
  with_element(op.q.dtype, [&](auto element) {
    using T = decltype(element);
    // Late tiles see most keys: they begin first.
    team.for_each_block(s.heads * tiles, [&](std::int64_t i, int member) {
      run_block<T>(op, s, i / tiles, block_range(tiles - 1 - i % tiles, kQueryTile, s.queries),
                   team.scratch<float>(member).data());
    });
  });
}

}  // namespace ebbtide::kernels::cpu
