#include <gtest/gtest.h>

#include "tests/kernels/operands.hpp"

namespace ebbtide::kernels {
namespace {

enum class Extra : std::uint8_t { kNone, kBias, kResidual, kBoth };

struct Case {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  DType dtype;
  DType out;
  Layout a_layout;
  Layout b_layout;
  Accumulate accumulate;
  Extra extra;
};

std::string describe(const Case& c) {
  return std::to_string(c.m) + " x " + std::to_string(c.n) + " x " + std::to_string(c.k) + " " +
         std::string(name(c.dtype)) + " to " + std::string(name(c.out)) +
         (c.a_layout == Layout::kTransposed ? " a'" : "") +
         (c.b_layout == Layout::kTransposed ? " b'" : "") +
         (c.accumulate == Accumulate::kAdd ? " +=" : "");
}

Matrix stored(const Matrix& a, Layout layout) {
  return layout == Layout::kAsStored ? a : reference::transposed(a);
}

Outputs run_case(Kernels& kernels, const Case& c, std::uint64_t seed) {
  Random random(seed);
  const Matrix a = random.matrix(c.m, c.k, c.dtype);
  const Matrix b = random.matrix(c.k, c.n, c.dtype);
  const Matrix before = random.matrix(c.m, c.n, DType::kF32);
  Operand a_operand(stored(a, c.a_layout), c.dtype);
  Operand b_operand(stored(b, c.b_layout), c.dtype);
  Operand bias(random.matrix(1, c.n, c.dtype), c.dtype);
  Operand residual(random.matrix(c.m, c.n, c.dtype), c.dtype);
  Operand out =
      c.accumulate == Accumulate::kAdd ? Operand(before, c.out) : Operand(c.m, c.n, c.out);
  Matmul op{.a = a_operand,
            .a_layout = c.a_layout,
            .b = b_operand,
            .b_layout = c.b_layout,
            .out = out,
            .accumulate = c.accumulate};
  Matrix expected = reference::matmul(a, b);
  if (c.accumulate == Accumulate::kAdd) expected = reference::plus(expected, before);
  if (c.extra == Extra::kBias || c.extra == Extra::kBoth) {
    op.bias = bias;
    expected = reference::plus(expected, reference::matmul(Matrix(c.m, 1, 1.0), bias.read()));
  }
  if (c.extra == Extra::kResidual || c.extra == Extra::kBoth) {
    op.residual = residual;
    expected = reference::plus(expected, residual.read());
  }
  kernels.run(op, nullptr);
  expect_near(out, expected, tolerance(expected, c.out), describe(c));
  Outputs outputs;
  outputs.add(describe(c), out);
  return outputs;
}

Case random_case(std::uint64_t seed, DType dtype) {
  Random random(seed);
  Case c{.m = random.one_of({1, 2, 7, random.between(1, 300), 257}),
         .n = random.one_of({1, 3, 15, random.between(1, 600), 513}),
         .k = random.one_of({1, 5, random.between(1, 1100), 1025}),
         .dtype = dtype,
         .out = random.between(0, 1) == 0 ? dtype : DType::kF32,
         .a_layout = static_cast<Layout>(random.between(0, 1)),
         .b_layout = static_cast<Layout>(random.between(0, 1)),
         .accumulate = Accumulate::kOverwrite,
         .extra = static_cast<Extra>(random.between(0, 3))};
  if (c.out == DType::kF32 && random.between(0, 1) == 0) {
    c.accumulate = Accumulate::kAdd;
    c.extra = Extra::kNone;
  }
  return c;
}

class MatrixProduct : public testing::TestWithParam<Products> {};

INSTANTIATE_TEST_SUITE_P(By, MatrixProduct, testing::Values(Products::kFastest, Products::kOwn),
                         [](const auto& instance) {
                           return instance.param == Products::kOwn ? "Own" : "Fastest";
                         });

TEST_P(MatrixProduct, AgreesWithTheReferenceOnRandomShapes) {
  const auto kernels = make_cpu_kernels({.threads = 2, .products = GetParam()});
  for (const DType dtype : kDTypes) {
    for (std::uint64_t seed = 0; seed < 48; ++seed) {
      run_case(*kernels, random_case(seed, dtype), seed);
    }
  }
}

TEST_P(MatrixProduct, GivesTheSameBitsOnEveryNumberOfThreads) {
  for (const DType dtype : kDTypes) {
    for (const Layout a_layout : {Layout::kAsStored, Layout::kTransposed}) {
      for (const Layout b_layout : {Layout::kAsStored, Layout::kTransposed}) {
        const Case c{.m = 600,
                     .n = 530,
                     .k = 1301,
                     .dtype = dtype,
                     .out = DType::kF32,
                     .a_layout = a_layout,
                     .b_layout = b_layout,
                     .accumulate = Accumulate::kOverwrite,
                     .extra = Extra::kBoth};
        expect_same_on_all_teams([&](Kernels& kernels) { return run_case(kernels, c, 7); },
                                 GetParam());
      }
    }
  }
}

}  // namespace
}  // namespace ebbtide::kernels
