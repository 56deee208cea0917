#include <gtest/gtest.h>

#include "tests/kernels/operands.hpp"

namespace ebbtide::kernels {
namespace {

struct Shape {
  std::int64_t rows;
  std::int64_t cols;
};

Shape random_shape(std::uint64_t seed) {
  Random random(seed);
  return {random.one_of({1, 2, random.between(1, 80), 17}),
          random.one_of({1, 7, random.between(1, 700), 256, 129})};
}

std::string describe(Shape s, DType dtype) {
  return std::to_string(s.rows) + " x " + std::to_string(s.cols) + " " + std::string(name(dtype));
}

Outputs run_forward(Kernels& kernels, Shape s, DType dtype, std::uint64_t seed) {
  Random random(seed);
  Operand x(random.matrix(s.rows, s.cols, dtype, 3), dtype);
  Operand weight(random.matrix(1, s.cols, dtype), dtype);
  Operand y(s.rows, s.cols, dtype);
  kernels.run(RmsNormForward{.x = x, .weight = weight, .y = y, .epsilon = 1e-3F}, nullptr);
  const Matrix expected = reference::rms_norm(x.read(), weight.read(), static_cast<double>(1e-3F));
  expect_near(y, expected, tolerance(expected, dtype, 2e-6), describe(s, dtype));
  Outputs outputs;
  outputs.add("y", y);
  return outputs;
}

enum class Place : std::uint8_t { kOwn, kOverDy, kOverResidual };

Outputs run_backward(Kernels& kernels, Shape s, DType dtype, Place place, std::uint64_t seed) {
  Random random(seed);
  Operand x(random.matrix(s.rows, s.cols, dtype, 3), dtype);
  Operand weight(random.matrix(1, s.cols, dtype), dtype);
  Operand dy(random.matrix(s.rows, s.cols, dtype), dtype);
  Operand residual(random.matrix(s.rows, s.cols, dtype), dtype);
  Operand own(s.rows, s.cols, dtype);
  Operand dweight(random.matrix(1, s.cols, DType::kF32), DType::kF32);
  reference::RmsNormGradients expected =
      reference::rms_norm_backward(x.read(), weight.read(), dy.read(), static_cast<double>(1e-3F));
  expected.dx = reference::plus(expected.dx, residual.read());
  expected.dweight = reference::plus(expected.dweight, dweight.read());
  Operand& dx = place == Place::kOwn ? own : place == Place::kOverDy ? dy : residual;
  kernels.run(RmsNormBackward{.x = x,
                              .weight = weight,
                              .dy = dy,
                              .residual = residual,
                              .dx = dx,
                              .dweight = dweight,
                              .epsilon = 1e-3F},
              nullptr);
  expect_near(dx, expected.dx, tolerance(expected.dx, dtype), describe(s, dtype) + " dx");
  expect_near(dweight, expected.dweight, tolerance(expected.dweight, DType::kF32),
              describe(s, dtype) + " dweight");
  Outputs outputs;
  outputs.add("dx", dx);
  outputs.add("dweight", dweight);
  return outputs;
}

TEST(RmsNorm, AgreesWithTheReferenceOnRandomShapes) {
  const auto kernels = make_cpu_kernels({.threads = 2});
  for (const DType dtype : kDTypes) {
    for (std::uint64_t seed = 0; seed < 36; ++seed) {
      run_forward(*kernels, random_shape(seed), dtype, seed);
      run_backward(*kernels, random_shape(seed), dtype, static_cast<Place>(seed % 3), seed);
    }
  }
}

TEST(RmsNorm, GivesTheSameBitsOnEveryNumberOfThreads) {
  for (const DType dtype : kDTypes) {
    expect_same_on_all_teams([&](Kernels& k) { return run_forward(k, {600, 300}, dtype, 1); });
    expect_same_on_all_teams([&](Kernels& k) {
      return run_backward(k, {1100, 300}, dtype, Place::kOverDy, 1);
    });
  }
}

// More rows than are held at a time.
TEST(RmsNorm, TakesAnyNumberOfRows) {
  const auto kernels = make_cpu_kernels({.threads = 2});
  run_backward(*kernels, {4096 + 513, 9}, DType::kF32, Place::kOwn, 1);
}

TEST(RmsNorm, LeavesOutAnAbsentResidual) {
  Random random(1);
  Operand x(random.matrix(5, 8, DType::kF32), DType::kF32);
  Operand weight(random.matrix(1, 8, DType::kF32), DType::kF32);
  Operand dy(random.matrix(5, 8, DType::kF32), DType::kF32);
  Operand dx(5, 8, DType::kF32);
  Operand dweight(Matrix(1, 8), DType::kF32);
  make_cpu_kernels({})->run(
      RmsNormBackward{
          .x = x, .weight = weight, .dy = dy, .residual = {}, .dx = dx, .dweight = dweight},
      nullptr);
  const Matrix expected = reference::rms_norm_backward(x.read(), weight.read(), dy.read(), 1e-5).dx;
  expect_near(dx, expected, tolerance(expected, DType::kF32), "dx");
}

}  // namespace
}  // namespace ebbtide::kernels
