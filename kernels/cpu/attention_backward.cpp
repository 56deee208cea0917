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
#include "kernels/cpu/product.hpp"

namespace ebbtide::kernels::cpu {
namespace {

using Progress = std::atomic<std::uint32_t>;
constexpr std::int64_t kMaxBlocks = 65536;
static_assert(kMaxBlocks * sizeof(Progress) <= Team::kSharedBytes);

struct Tiles {
  float* q;        // (kQueryTile, D), scaled
  float* dout;     // (kQueryTile, D)
  float* k;        // (kKeyTile, D)
  float* v;        // (kKeyTile, D)
  float* dk;       // (kKeyTile, D)
  float* dv;       // (kKeyTile, D)
  float* weights;  // (kQueryTile, kKeyTile): P
  float* dscores;  // (kQueryTile, kKeyTile): dP, then dS

  Tiles(float* at, std::int64_t dim) {
    const auto take = [&at](std::int64_t count) { return std::exchange(at, at + count); };
    q = take(kQueryTile * dim);
    dout = take(kQueryTile * dim);
    k = take(kKeyTile * dim);
    v = take(kKeyTile * dim);
    dk = take(kKeyTile * dim);
    dv = take(kKeyTile * dim);
    weights = take(kQueryTile * kKeyTile);
    dscores = take(kQueryTile * kKeyTile);
  }
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

void load_sums(const Pass& p, const Step& at, const Tiles& t) {
  const std::int64_t count = at.keys.size() * p.sizes.dim;
  if (p.op.dkv_order == PairOrder::kFirst) {
    std::fill_n(t.dk, count, 0.0F);
    std::fill_n(t.dv, count, 0.0F);
    return;
  }
  load_tile<float>(p.op.dk, at.keys, at.kv_head, p.sizes.dim, 1.0F, t.dk);
  load_tile<float>(p.op.dv, at.keys, at.kv_head, p.sizes.dim, 1.0F, t.dv);
}

void store_tile(const Tensor& to, Range rows, std::int64_t head, std::int64_t dim,
                const float* from) {
  for (std::int64_t r = 0; r < rows.size(); ++r) {
    std::copy_n(from + r * dim, dim, data<float>(to) + (rows.begin + r) * to.cols + head * dim);
  }
}

// P and dS of the step, from S in t.weights and dP in t.dscores.
void make_dscores(const Pass& p, const Step& at, const Tiles& t) {
  for (std::int64_t r = 0; r < at.queries.size(); ++r) {
    const std::int64_t row = at.queries.begin + r;
    const std::int64_t visible = visible_keys(p.op.causality, row, at.keys);
    const float lse = data<float>(p.op.lse)[row * p.sizes.heads + at.head];
    const float delta = data<float>(p.op.delta)[row * p.sizes.heads + at.head];
    float* weights = t.weights + r * kKeyTile;
    float* dscores = t.dscores + r * kKeyTile;
#pragma omp simd
    for (std::int64_t i = 0; i < visible; ++i) {
      weights[i] = exponential(weights[i] - lse);
      dscores[i] = weights[i] * (dscores[i] - delta);
    }
    std::fill(weights + visible, weights + at.keys.size(), 0.0F);
    std::fill(dscores + visible, dscores + at.keys.size(), 0.0F);
  }
}

void multiply_scores(const Pass& p, const Step& at, const Tiles& t) {
  const std::int64_t dim = p.sizes.dim;
  Product product{.m = at.queries.size(),
                  .n = at.keys.size(),
                  .k = dim,
                  .a = t.q,
                  .lda = dim,
                  .b = t.k,
                  .ldb = dim,
                  .b_layout = Layout::kTransposed,
                  .c = t.weights,
                  .ldc = kKeyTile};
  multiply(product);
  product.a = t.dout;
  product.b = t.v;
  product.c = t.dscores;
  multiply(product);
}

void add_dkv(const Pass& p, const Step& at, const Tiles& t) {
  const std::int64_t dim = p.sizes.dim;
  Product product{.m = at.keys.size(),
                  .n = dim,
                  .k = at.queries.size(),
                  .a = t.weights,
                  .lda = kKeyTile,
                  .a_layout = Layout::kTransposed,
                  .b = t.dout,
                  .ldb = dim,
                  .c = t.dv,
                  .ldc = dim,
                  .accumulate = Accumulate::kAdd};
  multiply(product);
  product.a = t.dscores;
  product.b = t.q;
  product.c = t.dk;
  multiply(product);
}

// Overwrites dq on the first tile of keys of a first pair.
void add_dq(const Pass& p, const Step& at, const Tiles& t) {
  const bool first = p.op.dq_order == PairOrder::kFirst && at.key_tile == 0;
  const std::int64_t dim = p.sizes.dim;
  float* dq = data<float>(p.op.dq) + at.queries.begin * p.op.dq.cols + at.head * dim;
  multiply({.m = at.queries.size(),
            .n = dim,
            .k = at.keys.size(),
            .a = t.dscores,
            .lda = kKeyTile,
            .b = t.k,
            .ldb = dim,
            .c = dq,
            .ldc = p.op.dq.cols,
            .accumulate = first ? Accumulate::kOverwrite : Accumulate::kAdd,
            .alpha = p.scale});
}

template <typename T>
void run_step(const Pass& p, const Step& at, const Tiles& t) {
  load_tile<T>(p.op.q, at.queries, at.head, p.sizes.dim, p.scale, t.q);
  load_tile<T>(p.op.dout, at.queries, at.head, p.sizes.dim, 1.0F, t.dout);
  multiply_scores(p, at, t);
  make_dscores(p, at, t);
  add_dkv(p, at, t);
  if (at.key_tile > 0) wait_for(p.progress[at.block - 1], at.index + 1);
  add_dq(p, at, t);
}

// Says that the step at.index and all before it are done, this block's part included.
void publish(const Pass& p, const Step& at) {
  p.progress[at.block].store(at.index + 1);
  p.progress[at.block].notify_all();
}

template <typename T>
void run_block(const Pass& p, std::int64_t block, float* scratch) {
  const HeadSizes& s = p.sizes;
  const Tiles t(scratch, s.dim);
  Step at{.block = block,
          .kv_head = block / p.key_tiles,
          .key_tile = block % p.key_tiles,
          .keys = block_range(block % p.key_tiles, kKeyTile, s.keys)};
  load_tile<T>(p.op.k, at.keys, at.kv_head, s.dim, 1.0F, t.k);
  load_tile<T>(p.op.v, at.keys, at.kv_head, s.dim, 1.0F, t.v);
  load_sums(p, at, t);
  for (at.head = at.kv_head * s.group(); at.head < (at.kv_head + 1) * s.group(); ++at.head) {
    for (std::int64_t i = 0; i < block_count(s.queries, kQueryTile); ++i, ++at.index) {
      at.queries = block_range(i, kQueryTile, s.queries);
      if (visible_keys(p.op.causality, at.queries.end - 1, at.keys) > 0) run_step<T>(p, at, t);
      publish(p, at);
    }
  }
  store_tile(p.op.dk, at.keys, at.kv_head, s.dim, t.dk);
  store_tile(p.op.dv, at.keys, at.kv_head, s.dim, t.dv);
}

HeadSizes checked_sizes(const AttentionBackward& op) {
  const HeadSizes s = head_sizes(op.q, op.k, op.head_dim);
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
      run_block<decltype(element)>(pass, block, team.scratch<float>(member).data());
    });
  });
}

}  // namespace ebbtide::kernels::cpu
