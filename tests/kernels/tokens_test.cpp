// The two ends of the model, where token ids come in: embedding and cross-entropy.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/operands.hpp"

namespace ebbtide::kernels {
namespace {

constexpr std::uint64_t kSeeds = 32;

Outputs run_embedding(Kernels& kernels, std::uint64_t seed, DType dtype) {
  Random random(seed);
  const std::int64_t tokens = random.one_of({1, 3, random.between(1, 300)});
  const std::int64_t vocabulary = random.one_of({1, 2, 257});
  const std::int64_t width = random.one_of({1, 7, random.between(1, 400), 256});
  const std::vector<std::uint32_t> ids = random.ids(tokens, vocabulary);
  Operand table(random.matrix(vocabulary, width, dtype), dtype);
  Operand x(tokens, width, dtype);
  Operand dx(random.matrix(tokens, width, dtype), dtype);
  const Matrix before = random.matrix(vocabulary, width, DType::kF32);
  Operand dtable(before, DType::kF32);
  kernels.run(EmbeddingForward{.ids = ids.data(), .table = table, .x = x}, nullptr);
  kernels.run(EmbeddingBackward{.ids = ids.data(), .dx = dx, .dtable = dtable}, nullptr);
  EXPECT_EQ(x.content(), Operand(reference::embedding(ids, table.read()), dtype).content());
  const Matrix expected =
      reference::plus(before, reference::embedding_backward(ids, dx.read(), vocabulary));
  expect_near(dtable, expected, tolerance(expected, DType::kF32), "dtable");
  Outputs outputs;
  outputs.add("x", x);
  outputs.add("dtable", dtable);
  return outputs;
}

TEST(Embedding, AgreesWithTheReference) {
  for (const DType dtype : kDTypes) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      expect_same_on_all_teams([&](Kernels& k) { return run_embedding(k, seed, dtype); });
    }
  }
}

struct Case {
  std::int64_t tokens;
  std::int64_t vocabulary;
  double scale = 10;
};

// For fp32 the gradient goes over the logits for half of the seeds.
Outputs run_cross_entropy(Kernels& kernels, const Case& c, std::uint64_t seed, DType dtype) {
  Random random(seed);
  std::vector<std::uint32_t> targets = random.ids(c.tokens, c.vocabulary);
  for (std::uint32_t& target : targets) {
    if (random.between(0, 4) == 0) target = kIgnoredTarget;
  }
  Operand logits(random.matrix(c.tokens, c.vocabulary, DType::kF32, c.scale), DType::kF32);
  Operand own(c.tokens, c.vocabulary, dtype);
  const auto expected = reference::cross_entropy(logits.read(), targets, 0.125);
  Operand& dlogits = dtype == DType::kF32 && seed % 2 == 0 ? logits : own;
  double loss = 3;
  kernels.run(CrossEntropy{.logits = logits,
                           .dlogits = dlogits,
                           .targets = targets.data(),
                           .loss_sum = &loss,
                           .scale = 0.125F},
              nullptr);
  EXPECT_NEAR(loss, 3 + expected.loss, 1e-6 * (3 + expected.loss)) << "seed " << seed;
  const double largest = 0.125;
  expect_near(logits, expected.dlogits, {.absolute = 1e-6 * largest, .relative = 2e-6}, "logits");
  expect_near(dlogits, expected.dlogits,
              {.absolute = 1e-6 * largest, .relative = dtype == DType::kBf16 ? 0x1.02p-8 : 2e-6},
              "dlogits");
  Outputs outputs;
  outputs.add("dlogits", dlogits);
  outputs.add("loss", loss);
  return outputs;
}

TEST(CrossEntropy, AgreesWithTheReference) {
  for (const DType dtype : kDTypes) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      Random random(seed + 100);
      const Case c{random.one_of({1, 2, random.between(1, 90)}),
                   random.one_of({1, 2, 257, random.between(1, 3000)})};
      expect_same_on_all_teams([&](Kernels& k) { return run_cross_entropy(k, c, seed, dtype); });
    }
  }
}

TEST(CrossEntropy, StandsLogitsOfThousands) {
  const auto kernels = make_cpu_kernels({.threads = 2});
  run_cross_entropy(*kernels, {.tokens = 20, .vocabulary = 300, .scale = 5000}, 1, DType::kF32);
}

TEST(CrossEntropy, TakesAnyNumberOfRows) {
  const auto kernels = make_cpu_kernels({.threads = 2});
  run_cross_entropy(*kernels, {.tokens = 4096 + 5, .vocabulary = 3}, 2, DType::kF32);
}

TEST(CrossEntropy, GivesNothingForABatchOfIgnoredTargets) {
  const std::vector<std::uint32_t> targets(5, kIgnoredTarget);
  Operand logits(Matrix(5, 9, 2.0), DType::kF32);
  double loss = 1.5;
  make_cpu_kernels({})->run(
      CrossEntropy{
          .logits = logits, .dlogits = logits, .targets = targets.data(), .loss_sum = &loss},
      nullptr);
  EXPECT_EQ(loss, 1.5);
  EXPECT_EQ(logits.content(), Operand(Matrix(5, 9), DType::kF32).content());
}

}  // namespace
}  // namespace ebbtide::kernels
