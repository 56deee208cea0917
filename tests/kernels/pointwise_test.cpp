// Ops whose elements, rows or columns do not meet: SwiGLU, cast, add, bias, sum of squares, AdamW.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/exponential.hpp"
#include "tests/kernels/operands.hpp"

namespace ebbtide::kernels {
namespace {

constexpr std::uint64_t kSeeds = 32;

struct Shape {
  std::int64_t rows;
  std::int64_t cols;
};

// Some are larger than any block of these ops.
Shape random_shape(Random& random) {
  return {random.one_of({1, 2, random.between(1, 70), 65}),
          random.one_of({1, 7, random.between(1, 900), 700})};
}

void expect_agreement(const std::function<Outputs(Kernels&, std::uint64_t, DType)>& run) {
  const auto kernels = make_cpu_kernels({.threads = 2});
  for (const DType dtype : kDTypes) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) run(*kernels, seed, dtype);
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      expect_same_on_all_teams([&](Kernels& k) { return run(k, seed, dtype); });
    }
  }
}

TEST(Exponential, IsOffByLessThan2em7) {
  double worst = 0;
  for (double x = -87.2; x < 88; x += 0.00137) {
    const auto narrow = static_cast<float>(x);
    const double exact = std::exp(static_cast<double>(narrow));
    worst = std::max(worst, std::abs(static_cast<double>(cpu::exponential(narrow)) / exact - 1));
  }
  EXPECT_LT(worst, 2e-7);
  EXPECT_EQ(cpu::exponential(0.0F), 1.0F);
  EXPECT_EQ(cpu::exponential(-1000.0F), 0.0F);
  EXPECT_EQ(cpu::exponential(-std::numeric_limits<float>::infinity()), 0.0F);
  EXPECT_TRUE(std::isnan(cpu::exponential(std::numeric_limits<float>::quiet_NaN())));
}

Outputs run_swiglu(Kernels& kernels, std::uint64_t seed, DType dtype) {
  Random random(seed);
  const Shape s = random_shape(random);
  Operand gate(random.matrix(s.rows, s.cols, dtype, 20), dtype);
  Operand up(random.matrix(s.rows, s.cols, dtype), dtype);
  Operand dact(random.matrix(s.rows, s.cols, dtype), dtype);
  Operand act(s.rows, s.cols, dtype);
  Operand dgate(s.rows, s.cols, dtype);
  Operand dup(s.rows, s.cols, dtype);
  kernels.run(SwigluForward{.gate = gate, .up = up, .act = act}, nullptr);
  kernels.run(SwigluBackward{.gate = gate, .up = up, .dact = dact, .dgate = dgate, .dup = dup},
              nullptr);
  const Matrix expected = reference::swiglu(gate.read(), up.read());
  const auto backward = reference::swiglu_backward(gate.read(), up.read(), dact.read());
  expect_near(act, expected, tolerance(expected, dtype, 1e-6), "act");
  expect_near(dgate, backward.dgate, tolerance(backward.dgate, dtype, 1e-6), "dgate");
  expect_near(dup, backward.dup, tolerance(backward.dup, dtype, 1e-6), "dup");
  Outputs outputs;
  outputs.add("act", act);
  outputs.add("dgate", dgate);
  outputs.add("dup", dup);
  return outputs;
}

TEST(Swiglu, AgreesWithTheReference) {
  expect_agreement(run_swiglu);
}

Outputs run_cast(Kernels& kernels, std::uint64_t seed, DType from, DType to) {
  Random random(seed);
  const Shape s = random_shape(random);
  const Matrix before = random.matrix(s.rows, s.cols, from);
  Operand x(before, from);
  Operand y(s.rows, s.cols, to);
  kernels.run(Cast{.x = x, .y = y}, nullptr);
  EXPECT_EQ(y.content(), Operand(before, to).content());
  Outputs outputs;
  outputs.add("y", y);
  return outputs;
}

TEST(Cast, RoundsExactlyFromAndToEveryType) {
  for (const DType to : kDTypes) {
    expect_agreement([to](Kernels& kernels, std::uint64_t seed, DType from) {
      return run_cast(kernels, seed, from, to);
    });
  }
}

TEST(Cast, RoundsHalvesToEvenAndKeepsNans) {
  Operand x(1, 4, DType::kF32);
  const std::array<std::uint32_t, 4> bits{0x3f808000U, 0x3f818000U, 0x3f808001U, 0x7f800001U};
  std::copy(bits.begin(), bits.end(), x.as<std::uint32_t>());
  Operand y(1, 4, DType::kBf16);
  make_cpu_kernels({})->run(Cast{.x = x, .y = y}, nullptr);
  const auto* got = y.as<std::uint16_t>();
  EXPECT_EQ(got[0], 0x3f80);
  EXPECT_EQ(got[1], 0x3f82);
  EXPECT_EQ(got[2], 0x3f81);
  EXPECT_TRUE((got[3] & 0x7f80) == 0x7f80 && (got[3] & 0x7f) != 0);
}

Outputs run_add(Kernels& kernels, std::uint64_t seed, DType dtype) {
  Random random(seed);
  const Shape s = random_shape(random);
  const Matrix a_before = random.matrix(s.rows, s.cols, dtype);
  Operand a(a_before, dtype);
  Operand b(random.matrix(s.rows, s.cols, dtype), dtype);
  Operand own(s.rows, s.cols, dtype);
  Operand& y = seed % 2 == 0 ? own : a;
  kernels.run(Add{.a = a, .b = b, .y = y}, nullptr);
  const Matrix expected = reference::plus(a_before, b.read());
  expect_near(y, expected, tolerance(expected, dtype, 1e-7), "y");
  Outputs outputs;
  outputs.add("y", y);
  return outputs;
}

TEST(Add, AgreesWithTheReference) {
  expect_agreement(run_add);
}

Outputs run_bias(Kernels& kernels, std::uint64_t seed, DType dtype) {
  Random random(seed);
  Shape s = random_shape(random);
  if (seed % 4 == 0) s.rows += 2 * kTokenBlock;
  Operand dy(random.matrix(s.rows, s.cols, dtype), dtype);
  const Matrix before = random.matrix(1, s.cols, DType::kF32);
  Operand dbias(before, DType::kF32);
  kernels.run(BiasBackward{.dy = dy, .dbias = dbias}, nullptr);
  const Matrix expected = reference::plus(before, reference::column_sums(dy.read()));
  expect_near(dbias, expected, tolerance(expected, DType::kF32), "dbias");
  Outputs outputs;
  outputs.add("dbias", dbias);
  return outputs;
}

TEST(BiasBackward, AgreesWithTheReference) {
  expect_agreement(run_bias);
}

Outputs run_sum_of_squares(Kernels& kernels, std::uint64_t seed, DType) {
  Random random(seed);
  const std::int64_t count = random.one_of({0, 1, 32768, random.between(1, 200000)});
  Operand x(random.matrix(1, count, DType::kF32), DType::kF32);
  double sum = std::nan("");
  kernels.run(SumOfSquares{.x = x.as<float>(), .count = count, .sum = &sum}, nullptr);
  double expected = 0;
  for (const double value : x.read().at) expected += value * value;
  EXPECT_NEAR(sum, expected, 1e-12 * expected);
  Outputs outputs;
  outputs.add("sum", sum);
  return outputs;
}

TEST(SumOfSquares, AgreesWithTheReference) {
  expect_agreement(run_sum_of_squares);
}

AdamW random_settings(Random& random) {
  AdamW op;
  op.step = random.one_of({1, 2, 1000});
  op.learning_rate = 0.01F;
  op.weight_decay = 0.1F;
  op.gradient_scale = 0.25F;
  return op;
}

// The weight, in the weight's dtype, and the master where it is not the weight itself.
Outputs run_adamw(Kernels& kernels, std::uint64_t seed, DType dtype) {
  Random random(seed);
  AdamW op = random_settings(random);
  op.count = random.one_of({1, 5, 16384, random.between(1, 40000)});
  const auto content = [&] { return random.matrix(1, op.count, DType::kF32); };
  reference::AdamWState before{content(), content(), content()};
  for (double& v : before.v.at) v = std::abs(v);
  const Matrix gradient = content();
  Operand master(before.master, DType::kF32);
  Operand m(before.m, DType::kF32);
  Operand v(before.v, DType::kF32);
  Operand g(gradient, DType::kF32);
  Operand own_weight(1, op.count, dtype);
  Operand& weight = dtype == DType::kF32 ? master : own_weight;
  op.master = master.as<float>();
  op.m = m.as<float>();
  op.v = v.as<float>();
  op.gradient = g.as<float>();
  op.weight = weight.tensor().data;
  op.weight_dtype = dtype;
  kernels.run(op, nullptr);
  const reference::AdamWState expected = reference::adamw(before, gradient, op);
  expect_near(master, expected.master, {.absolute = 2e-7, .relative = 1e-6}, "master");
  expect_near(m, expected.m, {.absolute = 1e-7, .relative = 1e-6}, "m");
  expect_near(v, expected.v, {.absolute = 1e-7, .relative = 1e-6}, "v");
  EXPECT_EQ(weight.content(), Operand(master.read(), dtype).content());
  Outputs outputs;
  outputs.add("master", master);
  outputs.add("m", m);
  outputs.add("v", v);
  outputs.add("weight", weight);
  return outputs;
}

TEST(AdamW, AgreesWithTheReference) {
  expect_agreement(run_adamw);
}

TEST(AdamW, LeavesWeightsAloneAtLearningRateZero) {
  Random random(1);
  const Matrix before = random.matrix(1, 1000, DType::kBf16);
  Operand master(before, DType::kF32);
  Operand m(Matrix(1, 1000), DType::kF32);
  Operand v(Matrix(1, 1000), DType::kF32);
  Operand g(random.matrix(1, 1000, DType::kF32), DType::kF32);
  Operand weight(1, 1000, DType::kBf16);
  AdamW op = random_settings(random);
  op.master = master.as<float>();
  op.m = m.as<float>();
  op.v = v.as<float>();
  op.gradient = g.as<float>();
  op.weight = weight.tensor().data;
  op.weight_dtype = DType::kBf16;
  op.count = 1000;
  op.learning_rate = 0;
  make_cpu_kernels({})->run(op, nullptr);
  EXPECT_EQ(weight.content(), Operand(before, DType::kBf16).content());
  EXPECT_EQ(master.content(), Operand(before, DType::kF32).content());
}

}  // namespace
}  // namespace ebbtide::kernels
