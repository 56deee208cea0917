#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/kernels/operands.hpp"

namespace ebbtide::kernels {
namespace {

using reference::AttentionGradients;
using reference::AttentionState;

struct Case {
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t kv_heads;
  std::int64_t group;
  std::int64_t dim;
  Causality causality;
  PairOrder order;
  DType dtype;
  double score_scale = 1;

  std::int64_t heads() const { return kv_heads * group; }
  reference::AttentionShape shape() const { return {.dim = dim, .causality = causality}; }
};

std::string describe(const Case& c) {
  return std::to_string(c.queries) + " queries " + std::to_string(c.keys) + " keys " +
         std::to_string(c.kv_heads) + " x " + std::to_string(c.group) + " heads of " +
         std::to_string(c.dim) + (c.causality == Causality::kFull ? " full " : " diagonal ") +
         (c.order == PairOrder::kFirst ? "first " : "later ") + std::string(name(c.dtype));
}

Case random_case(std::uint64_t seed, DType dtype) {
  Random random(seed);
  return {.queries = random.one_of({1, 2, random.between(1, 300), 129, 257}),
          .keys = random.one_of({1, 3, random.between(1, 600), 257}),
          .kv_heads = random.one_of({1, 2, 3}),
          .group = random.one_of({1, 2, 4, 7}),
          .dim = random.one_of({1, 5, 16, 64, 80, 128}),
          .causality = static_cast<Causality>(random.between(0, 1)),
          .order = static_cast<PairOrder>(random.between(0, 1)),
          .dtype = dtype};
}

// Scores and sums in fp32: absolute error 1e-6 a unit of score.
constexpr double kError = 2e-5;

struct Inputs {
  Matrix q;
  Matrix k;
  Matrix v;
  Inputs(Random& random, const Case& c)
      : q(random.matrix(c.queries, c.heads() * c.dim, c.dtype, c.score_scale)),
        k(random.matrix(c.keys, c.kv_heads * c.dim, c.dtype, c.score_scale)),
        v(random.matrix(c.keys, c.kv_heads * c.dim, c.dtype)) {}
};

AttentionState random_state(Random& random, const Case& c) {
  return {random.matrix(c.queries, c.heads() * c.dim, DType::kF32),
          random.matrix(c.queries, c.heads(), DType::kF32, 5)};
}

Outputs run_forward(Kernels& kernels, const Case& c, std::uint64_t seed) {
  Random random(seed);
  const Inputs in(random, c);
  const AttentionState before = random_state(random, c);
  AttentionState expected = reference::attention(in.q, in.k, in.v, c.shape());
  const bool later = c.order == PairOrder::kLater;
  if (later) expected = reference::merged(before, expected, c.dim);
  Operand q(in.q, c.dtype);
  Operand k(in.k, c.dtype);
  Operand v(in.v, c.dtype);
  Operand out =
      later ? Operand(before.out, DType::kF32) : Operand(c.queries, c.heads() * c.dim, DType::kF32);
  Operand lse =
      later ? Operand(before.lse, DType::kF32) : Operand(c.queries, c.heads(), DType::kF32);
  kernels.run(AttentionForward{.q = q,
                               .k = k,
                               .v = v,
                               .out = out,
                               .lse = lse,
                               .head_dim = c.dim,
                               .causality = c.causality,
                               .order = c.order},
              nullptr);
  expect_near(out, expected.out, tolerance(expected.out, DType::kF32, kError), describe(c));
  expect_near(lse, expected.lse, tolerance(expected.lse, DType::kF32, kError), describe(c));
  Outputs outputs;
  outputs.add("out", out);
  outputs.add("lse", lse);
  return outputs;
}

Operand gradient_operand(const Matrix& before, PairOrder order) {
  return order == PairOrder::kLater ? Operand(before, DType::kF32)
                                    : Operand(before.rows, before.cols, DType::kF32);
}

Matrix gradient_sum(const Matrix& before, const Matrix& part, PairOrder order) {
  return order == PairOrder::kLater ? reference::plus(before, part) : part;
}

// dkv is in the other order than dq for half of the seeds.
Outputs run_backward(Kernels& kernels, const Case& c, std::uint64_t seed) {
  Random random(seed);
  const Inputs in(random, c);
  const PairOrder dkv_order =
      static_cast<PairOrder>((static_cast<std::uint64_t>(c.order) + seed) % 2);
  const Matrix dout = random.matrix(c.queries, c.heads() * c.dim, c.dtype);
  const AttentionState state = reference::attention(in.q, in.k, in.v, c.shape());
  const Matrix lse_in = rounded(state.lse, DType::kF32);
  const Matrix delta_in = rounded(reference::attention_delta(state.out, dout, c.dim), DType::kF32);
  const AttentionGradients part =
      reference::attention_backward({in.q, in.k, in.v, dout, lse_in, delta_in}, c.shape());
  const Matrix dq_before = random.matrix(c.queries, c.heads() * c.dim, DType::kF32, 0.1);
  const Matrix dk_before = random.matrix(c.keys, c.kv_heads * c.dim, DType::kF32, 0.1);
  const Matrix dv_before = random.matrix(c.keys, c.kv_heads * c.dim, DType::kF32, 0.1);
  Operand q(in.q, c.dtype);
  Operand k(in.k, c.dtype);
  Operand v(in.v, c.dtype);
  Operand dout_operand(dout, c.dtype);
  Operand lse(lse_in, DType::kF32);
  Operand delta(delta_in, DType::kF32);
  Operand dq = gradient_operand(dq_before, c.order);
  Operand dk = gradient_operand(dk_before, dkv_order);
  Operand dv = gradient_operand(dv_before, dkv_order);
  kernels.run(AttentionBackward{.q = q,
                                .k = k,
                                .v = v,
                                .dout = dout_operand,
                                .lse = lse,
                                .delta = delta,
                                .dq = dq,
                                .dk = dk,
                                .dv = dv,
                                .head_dim = c.dim,
                                .causality = c.causality,
                                .dq_order = c.order,
                                .dkv_order = dkv_order},
              nullptr);
  const auto check = [&](const Operand& got, const Matrix& before, const Matrix& add,
                         PairOrder order, const std::string& what) {
    const Matrix expected = gradient_sum(before, add, order);
    // Where one key is seen, P (dP - delta) is a difference of equals.
    Tolerance allowed = tolerance(expected, DType::kF32, kError);
    allowed.absolute += 1e-6;
    expect_near(got, expected, allowed, describe(c) + what);
  };
  check(dq, dq_before, part.dq, c.order, " dq");
  check(dk, dk_before, part.dk, dkv_order, " dk");
  check(dv, dv_before, part.dv, dkv_order, " dv");
  Outputs outputs;
  outputs.add("dq", dq);
  outputs.add("dk", dk);
  outputs.add("dv", dv);
  return outputs;
}

TEST(AttentionForward, AgreesWithTheReferenceOnRandomShapes) {
  const auto kernels = make_cpu_kernels({.threads = 2});
  for (const DType dtype : kDTypes) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      run_forward(*kernels, random_case(seed, dtype), seed);
    }
  }
}

TEST(AttentionBackward, AgreesWithTheReferenceOnRandomShapes) {
  const auto kernels = make_cpu_kernels({.threads = 2});
  for (const DType dtype : kDTypes) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      run_backward(*kernels, random_case(seed, dtype), seed);
    }
  }
}

TEST(Attention, GivesTheSameBitsOnEveryNumberOfThreads) {
  for (const DType dtype : kDTypes) {
    for (const Causality causality : {Causality::kFull, Causality::kDiagonal}) {
      const Case c{.queries = 700,
                   .keys = 700,
                   .kv_heads = 2,
                   .group = 2,
                   .dim = 16,
                   .causality = causality,
                   .order = PairOrder::kLater,
                   .dtype = dtype};
      expect_same_on_all_teams([&](Kernels& kernels) { return run_forward(kernels, c, 1); });
      expect_same_on_all_teams([&](Kernels& kernels) { return run_backward(kernels, c, 1); });
    }
  }
}

// Scores of hundreds: weights underflow to zero and nothing overflows.
TEST(AttentionForward, IsExactInItsLimitsForLargeScores) {
  const auto kernels = make_cpu_kernels({.threads = 2});
  Random random(1);
  const Case c{.queries = 65,
               .keys = 65,
               .kv_heads = 1,
               .group = 1,
               .dim = 64,
               .causality = Causality::kDiagonal,
               .order = PairOrder::kFirst,
               .dtype = DType::kF32,
               .score_scale = 12};
  Inputs in(random, c);
  const AttentionState expected = reference::attention(in.q, in.k, in.v, c.shape());
  Operand q(in.q, c.dtype);
  Operand k(in.k, c.dtype);
  Operand v(in.v, c.dtype);
  Operand out(c.queries, c.dim, DType::kF32);
  Operand lse(c.queries, 1, DType::kF32);
  kernels->run(AttentionForward{.q = q,
                                .k = k,
                                .v = v,
                                .out = out,
                                .lse = lse,
                                .head_dim = c.dim,
                                .causality = c.causality,
                                .order = c.order},
               nullptr);
  expect_near(out, expected.out, {.absolute = 1e-3}, "out");
  expect_near(lse, expected.lse, {.absolute = 1e-3}, "lse");
}

// Rows [from, from + rows) of a matrix.
Matrix rows_of(const Matrix& a, std::int64_t from, std::int64_t rows) {
  Matrix out(rows, a.cols);
  std::copy_n(a.at.begin() + from * a.cols, rows * a.cols, out.at.begin());
  return out;
}

// A sequence of 5 chunks, the last one shorter, through pairs as the model runs them, against the
// whole at once.
class ChunkedSequence {
 public:
  static constexpr std::int64_t kChunk = 90;
  static constexpr std::int64_t kTokens = 4 * kChunk + 37;
  static constexpr std::int64_t kHeads = 4;
  static constexpr std::int64_t kKvHeads = 2;
  static constexpr std::int64_t kDim = 16;

  explicit ChunkedSequence(DType dtype) : dtype_(dtype) {
    Random random(9);
    q_ = random.matrix(kTokens, kHeads * kDim, dtype, 2);
    k_ = random.matrix(kTokens, kKvHeads * kDim, dtype, 2);
    v_ = random.matrix(kTokens, kKvHeads * kDim, dtype);
    dout_ = random.matrix(kTokens, kHeads * kDim, dtype);
    whole_ = reference::attention(q_, k_, v_, kShape);
    delta_ = reference::attention_delta(whole_.out, dout_, kDim);
  }

  void check_forward(Kernels& kernels) {
    for (std::int64_t c = 0; c < kChunks; ++c) {
      Operand q(part(q_, c), dtype_);
      Operand out(rows(c), kHeads * kDim, DType::kF32);
      Operand lse(rows(c), kHeads, DType::kF32);
      for (std::int64_t j = 0; j <= c; ++j) {
        Operand k(part(k_, j), dtype_);
        Operand v(part(v_, j), dtype_);
        kernels.run(AttentionForward{.q = q,
                                     .k = k,
                                     .v = v,
                                     .out = out,
                                     .lse = lse,
                                     .head_dim = kDim,
                                     .causality = causality(c, j),
                                     .order = order(j == 0)},
                    nullptr);
      }
      const Matrix expected = part(whole_.out, c);
      expect_near(out, expected, tolerance(expected, DType::kF32, kError), "out");
      const Matrix expected_lse = part(whole_.lse, c);
      expect_near(lse, expected_lse, tolerance(expected_lse, DType::kF32, kError), "lse");
    }
  }

  void check_backward(Kernels& kernels) {
    std::vector<Operand> dk;
    std::vector<Operand> dv;
    for (std::int64_t j = 0; j < kChunks; ++j) {
      dk.emplace_back(rows(j), kKvHeads * kDim, DType::kF32);
      dv.emplace_back(rows(j), kKvHeads * kDim, DType::kF32);
    }
    const AttentionGradients expected =
        reference::attention_backward({q_, k_, v_, dout_, whole_.lse, delta_}, kShape);
    for (std::int64_t c = kChunks - 1; c >= 0; --c) {
      const Operand dq = backward_of_chunk(kernels, c, dk, dv);
      const Matrix expected_dq = part(expected.dq, c);
      expect_near(dq, expected_dq, tolerance(expected_dq, DType::kF32, kError), "dq");
      expect_near(dk[static_cast<std::size_t>(c)], part(expected.dk, c),
                  tolerance(expected.dk, DType::kF32, kError), "dk");
      expect_near(dv[static_cast<std::size_t>(c)], part(expected.dv, c),
                  tolerance(expected.dv, DType::kF32, kError), "dv");
    }
  }

 private:
  static constexpr std::int64_t kChunks = (kTokens + kChunk - 1) / kChunk;
  static constexpr reference::AttentionShape kShape{.dim = kDim, .causality = Causality::kDiagonal};

  static std::int64_t rows(std::int64_t chunk) {
    return std::min(kChunk, kTokens - chunk * kChunk);
  }
  static Matrix part(const Matrix& a, std::int64_t chunk) {
    return rows_of(a, chunk * kChunk, rows(chunk));
  }
  static Causality causality(std::int64_t c, std::int64_t j) {
    return c == j ? Causality::kDiagonal : Causality::kFull;
  }
  static PairOrder order(bool first) { return first ? PairOrder::kFirst : PairOrder::kLater; }

  Operand backward_of_chunk(Kernels& kernels, std::int64_t c, std::vector<Operand>& dk,
                            std::vector<Operand>& dv) {
    Operand q(part(q_, c), dtype_);
    Operand dout(part(dout_, c), dtype_);
    Operand lse(part(whole_.lse, c), DType::kF32);
    Operand delta(part(delta_, c), DType::kF32);
    Operand dq(rows(c), kHeads * kDim, DType::kF32);
    for (std::int64_t j = 0; j <= c; ++j) {
      Operand k(part(k_, j), dtype_);
      Operand v(part(v_, j), dtype_);
      kernels.run(AttentionBackward{.q = q,
                                    .k = k,
                                    .v = v,
                                    .dout = dout,
                                    .lse = lse,
                                    .delta = delta,
                                    .dq = dq,
                                    .dk = dk[static_cast<std::size_t>(j)],
                                    .dv = dv[static_cast<std::size_t>(j)],
                                    .head_dim = kDim,
                                    .causality = causality(c, j),
                                    .dq_order = order(j == 0),
                                    .dkv_order = order(c == kChunks - 1)},
                  nullptr);
    }
    return dq;
  }

  DType dtype_;
  Matrix q_;
  Matrix k_;
  Matrix v_;
  Matrix dout_;
  AttentionState whole_;
  Matrix delta_;
};

TEST(Attention, PairsOfChunksAddUpToTheWholeSequence) {
  const auto kernels = make_cpu_kernels({.threads = 2});
  for (const DType dtype : kDTypes) {
    ChunkedSequence sequence(dtype);
    sequence.check_forward(*kernels);
    sequence.check_backward(*kernels);
  }
}

Outputs run_delta(Kernels& kernels, std::uint64_t seed, DType dtype) {
  Random random(seed);
  const std::int64_t rows = random.one_of({1, random.between(1, 200)});
  const std::int64_t heads = random.one_of({1, 2, 7});
  const std::int64_t dim = random.one_of({1, 5, 64, 128});
  Operand out(random.matrix(rows, heads * dim, dtype), dtype);
  Operand dout(random.matrix(rows, heads * dim, dtype), dtype);
  Operand delta(rows, heads, DType::kF32);
  kernels.run(AttentionDelta{.out = out, .dout = dout, .delta = delta, .head_dim = dim}, nullptr);
  const Matrix expected = reference::attention_delta(out.read(), dout.read(), dim);
  expect_near(delta, expected, tolerance(expected, DType::kF32), "seed " + std::to_string(seed));
  Outputs outputs;
  outputs.add("delta", delta);
  return outputs;
}

TEST(AttentionDelta, AgreesWithTheReferenceOnRandomShapes) {
  for (const DType dtype : kDTypes) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      expect_same_on_all_teams([&](Kernels& kernels) { return run_delta(kernels, seed, dtype); });
    }
  }
}

}  // namespace
}  // namespace ebbtide::kernels
