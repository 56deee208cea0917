#include <gtest/gtest.h>

#include "tests/kernels/operands.hpp"

namespace ebbtide::kernels {
namespace {

struct Case {
  std::int64_t rows;
  std::int64_t heads;
  std::int64_t dim;
  std::int64_t first_position;
  Rotation rotation;
  RopeScaling scaling;
};

Case random_case(std::uint64_t seed) {
  Random random(seed);
  Case c{.rows = random.one_of({1, 2, random.between(1, 70)}),
         .heads = random.one_of({1, 2, 4, 7}),
         .dim = random.one_of({2, 6, 16, 64, 128}),
         .first_position = random.one_of({0, 1, 8191, 1048000}),
         .rotation = static_cast<Rotation>(random.between(0, 1)),
         .scaling = {}};
  if (seed % 2 == 1) c.scaling.factor = 8;
  return c;
}

Outputs run_case(Kernels& kernels, const Case& c, DType dtype, std::uint64_t seed) {
  Random random(seed);
  Operand table(c.rows, c.dim, DType::kF32);
  const Matrix before = random.matrix(c.rows, c.heads * c.dim, dtype);
  Operand x(before, dtype);
  kernels.run(RopeTable{.table = table,
                        .first_position = c.first_position,
                        .theta = 500000,
                        .scaling = c.scaling},
              nullptr);
  kernels.run(Rope{.x = x, .table = table, .head_dim = c.dim, .rotation = c.rotation}, nullptr);
  const Matrix angles = reference::rope_table(c.rows, c.dim, c.first_position, 500000, c.scaling);
  const std::string what = "seed " + std::to_string(seed) + " " + std::string(name(dtype));
  expect_near(table, angles, {.absolute = 1e-7}, what + " table");
  const Matrix expected = reference::rope(before, angles, c.rotation);
  expect_near(x, expected, tolerance(expected, dtype, 1e-6), what);
  Outputs outputs;
  outputs.add("table", table);
  outputs.add("x", x);
  return outputs;
}

TEST(Rope, AgreesWithTheReferenceOnRandomShapes) {
  const auto kernels = make_cpu_kernels({.threads = 2});
  for (const DType dtype : kDTypes) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      run_case(*kernels, random_case(seed), dtype, seed);
    }
  }
}

TEST(Rope, GivesTheSameBitsOnEveryNumberOfThreads) {
  const Case c{.rows = 333,
               .heads = 3,
               .dim = 64,
               .first_position = 100,
               .rotation = Rotation::kForward,
               .scaling = {}};
  for (const DType dtype : kDTypes) {
    expect_same_on_all_teams([&](Kernels& kernels) { return run_case(kernels, c, dtype, 1); });
  }
}

}  // namespace
}  // namespace ebbtide::kernels
