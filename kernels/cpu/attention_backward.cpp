// Gradients of one pair of causal attention (Dao 2023, alg. 2): with S = q k^T / sqrt(D),
//   P = exp(S - lse);  dv += P^T dout;  dP = dout v^T;  dS = P (dP - delta) / sqrt(D);
//   dk += dS^T q;  dq += dS k.
// 10 C Ck D flops a head.
//
// A block is one tile of keys of one key/value head: dk and dv of the tile are its own. It goes
// over the group's query heads and tiles of queries in order. dq gets a part from every tile of
// keys: a block adds its part for a step only after the block of the tile before has done that
// step, so that the parts are added in the order of the keys whatever the number of threads.
// Blocks begin in ascending order, so the block that is waited for has begun.
#include <atomic>
#include <cmath>
#include <span>

#include "kernels/cpu/attention_tile.hpp"
#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/parts.hpp"

namespace ebbtide::kernels::cpu {
namespace {

constexpr std::int64_t kQueryTile = 64;
constexpr std::int64_t kKeyTile = 128;
constexpr std::int64_t kScoreStride = spread(kQueryTile);

using Progress = std::atomic<std::uint32_t>;
constexpr std::int64_t kMaxBlocks = 65536;
static_assert(kMaxBlocks * sizeof(Progress) <= Team::kSharedBytes);

// Dp is D in whole panels.
struct Tiles {
  Panels q;          // (kQueryTile, Dp), scaled
  Panels dout;       // (kQueryTile, Dp)
  Panels k;          // (kKeyTile, Dp)
  Panels v;          // (kKeyTile, Dp)
  float* q_columns;  // the transposes of q and dout in panels
  float* dout_columns;
  float* dq;       // (kQueryTile, Dp): the step's part
  float* dk;       // (kKeyTile, Dp)
  float* dv;       // (kKeyTile, Dp)
  float* weights;  // (kKeyTile, kScoreStride): S, then P
  float* dscores;  // (kKeyTile, kScoreStride): dP, then dS
  float* lse;      // (kQueryTile)
  float* delta;    // (kQueryTile)

  Tiles(Parts& parts, std::int64_t dim)
      : q(take_panels(parts, kQueryTile, dim)),
        dout(take_panels(parts, kQueryTile, dim)),
        k(take_panels(parts, kKeyTile, dim)),
        v(take_panels(parts, kKeyTile, dim)),
        q_columns(parts.take(kQueryTile * dim)),
        dout_columns(parts.take(kQueryTile * dim)),
        dq(parts.take(kQueryTile * dim)),
        dk(parts.take(kKeyTile * dim)),
        dv(parts.take(kKeyTile * dim)),
        weights(parts.take(kKeyTile * kScoreStride)),
        dscores(parts.take(kKeyTile * kScoreStride)),
        lse(parts.take(kQueryTile)),
        delta(parts.take(kQueryTile)) {}
};

struct Pass {
  const AttentionBackward& op;
  HeadSizes sizes;
  std::int64_t key_tiles;
  Progress* progress;  // by block: steps whose dq is complete up to the block's tile of keys
  float scale;
};

// Where a block is in its work.
struct Step {
  std::int64_t block;
  std::int64_t kv_head;
  std::int64_t key_tile;
  Range keys;
  std::int64_t head = 0;
  Range queries{0, 0};
  std::uint32_t index = 0;
};

void wait_for(const Progress& progress, std::uint32_t steps) {
  for (std::uint32_t done = progress.load(); done < steps; done = progress.load()) {
    progress.wait(done);
  }
}

// to (rows, Dp) = rows [rows] of one head of t.
void load_rows(const Tensor& t, Range rows, std::int64_t head, const HeadSizes& s, float* to) {
  const std::int64_t padded = s.padded_dim();
  for (std::int64_t r = 0; r < rows.size(); ++r) {
    const float* from = data<float>(t) + (rows.begin + r) * t.cols + head * s.dim;
    std::copy_n(from, s.dim, to + r * padded);
    std::fill(to + r * padded + s.dim, to + (r + 1) * padded, 0.0F);
  }
}

void store_rows(const Tensor& t, Range rows, std::int64_t head, const HeadSizes& s,
                const float* from) {
  for (std::int64_t r = 0; r < rows.size(); ++r) {
    float* to = data<float>(t) + (rows.begin + r) * t.cols + head * s.dim;
    std::copy_n(from + r * s.padded_dim(), s.dim, to);
  }
}

void load_sums(const Pass& p, const Step& at, const Tiles& t) {
  if (p.op.dkv_order == PairOrder::kFirst) {
    const std::int64_t count = at.keys.size() * p.sizes.padded_dim();
    std::fill_n(t.dk, count, 0.0F);
    std::fill_n(t.dv, count, 0.0F);
    return;
  }
  load_rows(p.op.dk, at.keys, at.kv_head, p.sizes, t.dk);
  load_rows(p.op.dv, at.keys, at.kv_head, p.sizes, t.dv);
}

// The queries' side of a step.
template <typename T>
void load_queries(const Pass& p, const Step& at, const Tiles& t) {
  const std::int64_t dim = p.sizes.padded_dim();
  const std::int64_t rows = in_panels(at.queries.size());
  load_tile<T>(p.op.q, at.queries, at.head, p.sizes.dim, p.scale, t.q);
  load_tile<T>(p.op.dout, at.queries, at.head, p.sizes.dim, 1.0F, t.dout);
  transpose_panels(t.q.data, t.q.panel(), rows, dim, t.q_columns, dim * kPanel);
  transpose_panels(t.dout.data, t.dout.panel(), rows, dim, t.dout_columns, dim * kPanel);
  load_column(p.op.lse, at.queries, at.head, t.lse);
  load_column(p.op.delta, at.queries, at.head, t.delta);
}

// S^T = k q^T and dP^T = v dout^T.
void multiply_scores(const Pass& p, const Step& at, Range keys, const Tiles& t) {
  const std::int64_t dim = p.sizes.padded_dim();
  TileProduct product{.m = keys.size(),
                      .n = in_panels(at.queries.size()),
                      .k = dim,
                      .a = t.k.data,
                      .a_stride = kPanel,
                      .a_panel = t.k.panel(),
                      .b = t.q_columns,
                      .b_panel = dim * kPanel,
                      .c = t.weights,
                      .c_stride = kScoreStride};
  multiply_tile(product);
  product.a = t.v.data;
  product.b = t.dout_columns;
  product.c = t.dscores;
  multiply_tile(product);
}

// P and dS of the step, from S and dP.
void make_dscores(const Pass& p, const Step& at, Range keys, const Tiles& t) {
  const std::int64_t count = in_panels(at.queries.size());
  for (std::int64_t k = 0; k < keys.size(); ++k) {
    float* weights = t.weights + k * kScoreStride;
    float* dscores = t.dscores + k * kScoreStride;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      weights[i] = exponential(weights[i] - t.lse[i]);
      dscores[i] = weights[i] * (dscores[i] - t.delta[i]);
    }
    const std::int64_t hidden = hidden_queries(p.op.causality, at.queries, keys.begin + k);
    std::fill_n(weights, hidden, 0.0F);
    std::fill_n(dscores, hidden, 0.0F);
  }
}

// dv += P^T dout and dk += dS^T q.
void add_dkv(const Pass& p, const Step& at, Range keys, const Tiles& t) {
  const std::int64_t dim = p.sizes.padded_dim();
  TileProduct product{.m = keys.size(),
                      .n = dim,
                      .k = in_panels(at.queries.size()),
                      .a = t.weights,
                      .a_stride = kScoreStride,
                      .b = t.dout.data,
                      .b_panel = t.dout.panel(),
                      .c = t.dv,
                      .c_stride = dim,
                      .accumulate = Accumulate::kAdd};
  multiply_tile(product);
  product.a = t.dscores;
  product.b = t.q.data;
  product.c = t.dk;
  multiply_tile(product);
}

void multiply_dq(const Pass& p, const Step& at, Range keys, const Tiles& t) {
  const std::int64_t dim = p.sizes.padded_dim();
  multiply_tile({.m = at.queries.size(),
                 .n = dim,
                 .k = keys.size(),
                 .a_order = TileProduct::Order::kColumns,
                 .a = t.dscores,
                 .a_stride = kScoreStride,
                 .b = t.k.data,
                 .b_panel = t.k.panel(),
                 .c = t.dq,
                 .c_stride = dim});
}

// Overwrites dq on the first tile of keys of a first pair.
void add_dq(const Pass& p, const Step& at, const Tiles& t) {
  const bool overwrite = p.op.dq_order == PairOrder::kFirst && at.key_tile == 0;
  for (std::int64_t r = 0; r < at.queries.size(); ++r) {
    const float* from = t.dq + r * p.sizes.padded_dim();
    float* dq =
        data<float>(p.op.dq) + (at.queries.begin + r) * p.op.dq.cols + at.head * p.sizes.dim;
#pragma omp simd
    for (std::int64_t i = 0; i < p.sizes.dim; ++i) {
      dq[i] = (overwrite ? 0.0F : dq[i]) + from[i] * p.scale;
    }
  }
}

template <typename T>
void run_step(const Pass& p, const Step& at, Range keys, const Tiles& t) {
  load_queries<T>(p, at, t);
  multiply_scores(p, at, keys, t);
  make_dscores(p, at, keys, t);
  add_dkv(p, at, keys, t);
  multiply_dq(p, at, keys, t);
  if (at.key_tile > 0) wait_for(p.progress[at.block - 1], at.index + 1);
  add_dq(p, at, t);
}

// Says that the step at.index and all before it are done, this block's part included.
void publish(const Pass& p, const Step& at) {
  p.progress[at.block].store(at.index + 1);
  p.progress[at.block].notify_all();
}

template <typename T>
void run_block(const Pass& p, std::int64_t block, std::span<float> scratch) {
  const HeadSizes& s = p.sizes;
  Parts parts(scratch);
  const Tiles t(parts, s.padded_dim());
  Step at{.block = block,
          .kv_head = block / p.key_tiles,
          .key_tile = block % p.key_tiles,
          .keys = block_range(block % p.key_tiles, kKeyTile, s.keys)};
  load_tile<T>(p.op.k, at.keys, at.kv_head, s.dim, 1.0F, t.k);
  load_tile<T>(p.op.v, at.keys, at.kv_head, s.dim, 1.0F, t.v);
  load_sums(p, at, t);
  const Range heads = s.query_heads(at.kv_head);
  for (at.head = heads.begin; at.head < heads.end; ++at.head) {
    for (std::int64_t i = 0; i < block_count(s.queries, kQueryTile); ++i, ++at.index) {
      at.queries = block_range(i, kQueryTile, s.queries);
      const Range keys = visible_keys(p.op.causality, at.queries, at.keys);
      if (keys.size() > 0) run_step<T>(p, at, keys, t);
      publish(p, at);
    }
  }
  store_rows(p.op.dk, at.keys, at.kv_head, s, t.dk);
  store_rows(p.op.dv, at.keys, at.kv_head, s, t.dv);
}

HeadSizes checked_sizes(const AttentionBackward& op) {
  const HeadSizes s = head_sizes(op.q, op.k, op.head_dim, op.kv_group);
  check_same_shape(op.dout, op.q);
  check_shape(op.k, s.keys, s.kv_heads * s.dim, op.q.dtype);
  check_same_shape(op.v, op.k);
  for (const ConstTensor& t : {op.lse, op.delta}) check_shape(t, s.queries, s.heads, DType::kF32);
  check_shape(op.dq, s.queries, s.heads * s.dim, DType::kF32);
  check_shape(op.dk, s.keys, s.kv_heads * s.dim, DType::kF32);
  check_shape(op.dv, s.keys, s.kv_heads * s.dim, DType::kF32);
  return s;
}

}  // namespace

void run(const AttentionBackward& op, Team& team) {
  const HeadSizes s = checked_sizes(op);
  const std::int64_t key_tiles = block_count(s.keys, kKeyTile);
  const std::int64_t blocks = s.kv_heads * key_tiles;
  EBBTIDE_CHECK(blocks <= kMaxBlocks, "blocks " + std::to_string(blocks));
  const std::span<Progress> progress =
      team.shared<Progress>().first(static_cast<std::size_t>(blocks));
  for (Progress& p : progress) p.store(0);
  const Pass pass{op, s, key_tiles, progress.data(), 1.0F / std::sqrt(static_cast<float>(s.dim))};
  with_element(op.q.dtype, [&](auto element) {
    team.for_each_block(blocks, [&](std::int64_t block, int member) {
      run_block<decltype(element)>(pass, block, team.scratch<float>(member));
    });
  });
}

}  // namespace ebbtide::kernels::cpu
