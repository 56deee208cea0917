// The references of backward ops agree with central differences of the forward ones.
#include "tests/kernels/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/kernels/operands.hpp"

namespace ebbtide::kernels::reference {
namespace {

constexpr double kStep = 1e-5;
constexpr double kAllowed = 1e-7;  // differences are off by about kStep^2 and 1e-16 / kStep

using Forward = std::function<Matrix(const Matrix&)>;

double weighted_sum(const Matrix& weights, const Matrix& x) {
  double sum = 0;
  for (std::size_t i = 0; i < x.at.size(); ++i) sum += weights.at[i] * x.at[i];
  return sum;
}

// `gradient` is that of sum(dy * forward(x)).
void expect_gradient(const Forward& forward, Matrix x, const Matrix& dy, const Matrix& gradient) {
  ASSERT_EQ(gradient.at.size(), x.at.size());
  for (std::size_t i = 0; i < x.at.size(); ++i) {
    const double kept = x.at[i];
    x.at[i] = kept + kStep;
    const double above = weighted_sum(dy, forward(x));
    x.at[i] = kept - kStep;
    const double below = weighted_sum(dy, forward(x));
    x.at[i] = kept;
    const double slope = (above - below) / (2 * kStep);
    EXPECT_NEAR(gradient.at[i], slope, kAllowed * (1 + std::abs(slope))) << "element " << i;
  }
}

Matrix random_matrix(Random& random, std::int64_t rows, std::int64_t cols) {
  return random.matrix(rows, cols, DType::kF32);
}

TEST(Reference, MatmulGradientsAreProductsWithTransposes) {
  Random random(1);
  const Matrix a = random_matrix(random, 3, 5);
  const Matrix b = random_matrix(random, 5, 4);
  const Matrix dy = random_matrix(random, 3, 4);
  expect_gradient([&](const Matrix& x) { return matmul(x, b); }, a, dy, matmul(dy, transposed(b)));
  expect_gradient([&](const Matrix& x) { return matmul(a, x); }, b, dy, matmul(transposed(a), dy));
}

TEST(Reference, BiasGradientIsTheColumnSum) {
  Random random(2);
  const Matrix dy = random_matrix(random, 4, 3);
  const auto broadcast = [](const Matrix& bias) { return matmul(Matrix(4, 1, 1.0), bias); };
  expect_gradient(broadcast, random_matrix(random, 1, 3), dy, column_sums(dy));
}

TEST(Reference, RmsNormBackwardIsTheGradient) {
  Random random(3);
  const Matrix x = random_matrix(random, 3, 7);
  const Matrix weight = random_matrix(random, 1, 7);
  const Matrix dy = random_matrix(random, 3, 7);
  const RmsNormGradients g = rms_norm_backward(x, weight, dy, 1e-2);
  expect_gradient([&](const Matrix& t) { return rms_norm(t, weight, 1e-2); }, x, dy, g.dx);
  expect_gradient([&](const Matrix& t) { return rms_norm(x, t, 1e-2); }, weight, dy, g.dweight);
}

TEST(Reference, RopeBackwardIsTheGradient) {
  Random random(4);
  const Matrix table = rope_table(3, 4, 11, 100.0, {});
  const Matrix dy = random_matrix(random, 3, 8);
  expect_gradient([&](const Matrix& t) { return rope(t, table, Rotation::kForward); },
                  random_matrix(random, 3, 8), dy, rope(dy, table, Rotation::kBackward));
}

TEST(Reference, AttentionBackwardIsTheGradient) {
  for (const Causality causality : {Causality::kFull, Causality::kDiagonal}) {
    Random random(5);
    const AttentionShape shape{.dim = 3, .causality = causality};
    const Matrix q = random_matrix(random, 5, 12);
    const Matrix k = random_matrix(random, 4, 6);
    const Matrix v = random_matrix(random, 4, 6);
    const Matrix dout = random_matrix(random, 5, 12);
    const AttentionState state = attention(q, k, v, shape);
    const AttentionGradients g = attention_backward(
        {q, k, v, dout, state.lse, attention_delta(state.out, dout, shape.dim)}, shape);
    expect_gradient([&](const Matrix& t) { return attention(t, k, v, shape).out; }, q, dout, g.dq);
    expect_gradient([&](const Matrix& t) { return attention(q, t, v, shape).out; }, k, dout, g.dk);
    expect_gradient([&](const Matrix& t) { return attention(q, k, t, shape).out; }, v, dout, g.dv);
  }
}

TEST(Reference, SwigluBackwardIsTheGradient) {
  Random random(6);
  const Matrix gate = random.matrix(2, 9, DType::kF32, 5);
  const Matrix up = random_matrix(random, 2, 9);
  const Matrix dact = random_matrix(random, 2, 9);
  const SwigluGradients g = swiglu_backward(gate, up, dact);
  expect_gradient([&](const Matrix& t) { return swiglu(t, up); }, gate, dact, g.dgate);
  expect_gradient([&](const Matrix& t) { return swiglu(gate, t); }, up, dact, g.dup);
}

TEST(Reference, EmbeddingBackwardIsTheGradient) {
  Random random(7);
  const std::vector<std::uint32_t> ids{2, 0, 2, 4};
  const Matrix dx = random_matrix(random, 4, 3);
  expect_gradient([&](const Matrix& t) { return embedding(ids, t); }, random_matrix(random, 5, 3),
                  dx, embedding_backward(ids, dx, 5));
}

TEST(Reference, CrossEntropyGradientIsTheGradient) {
  Random random(8);
  const std::vector<std::uint32_t> targets{3, kIgnoredTarget, 0};
  const Matrix logits = random.matrix(3, 5, DType::kF32, 3);
  const auto loss = [&](const Matrix& t) {
    return Matrix(1, 1, cross_entropy(t, targets, 0.5).loss);
  };
  expect_gradient(loss, logits, Matrix(1, 1, 0.5), cross_entropy(logits, targets, 0.5).dlogits);
}

}  // namespace
}  // namespace ebbtide::kernels::reference
