#include "src/model/initialize.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "ebbtide/error.hpp"

namespace ebbtide::model {
namespace {

Parameter matrix(std::string name, std::int64_t rows = 64, std::int64_t cols = 96) {
  return {.name = std::move(name), .rows = rows, .cols = cols};
}

std::vector<float> whole(const Parameter& parameter, std::uint64_t seed = 7) {
  std::vector<float> values(static_cast<std::size_t>(parameter.count()));
  initialize(parameter, preset("demo"), seed, 0, values);
  return values;
}

TEST(Initialize, BlocksOfAnySizeInAnyOrderGiveTheWhole) {
  const Parameter parameter = matrix("model.layers.0.mlp.up_proj.weight");
  const std::vector<float> expected = whole(parameter);
  for (const std::size_t block : {1U, 3U, 4U, 7U, 1000U}) {
    std::vector<float> values(expected.size(), NAN);
    const std::size_t blocks = (values.size() + block - 1) / block;
    for (std::size_t b = blocks; b-- > 0;) {
      const std::size_t offset = b * block;
      initialize(parameter, preset("demo"), 7, static_cast<std::int64_t>(offset),
                 std::span(values).subspan(offset, std::min(block, values.size() - offset)));
    }
    EXPECT_EQ(values, expected) << block;
  }
}

// FAULTS J1: equal shapes had equal weights.
TEST(Initialize, NoTwoLayersAreEqual) {
  std::set<std::vector<float>> seen;
  for (int layer = 0; layer < 80; ++layer) {
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
      seen.insert(whole(matrix(fmt::format("model.layers.{}.self_attn.{}.weight", layer, name))));
  }
  EXPECT_EQ(seen.size(), 80U * 4U);
}

TEST(Initialize, SeedsDiffer) {
  EXPECT_NE(whole(matrix("lm_head.weight"), 1), whole(matrix("lm_head.weight"), 2));
}

TEST(Initialize, MatricesAreNormalWithTheInitializerRange) {
  const std::vector<float> values = whole(matrix("lm_head.weight", 1000, 1000));
  std::array<double, 5> moments{};
  for (const float x : values) {
    const double z = x / preset("demo").initializer_range;
    for (std::size_t k = 0; k < moments.size(); ++k)
      moments[k] += std::pow(z, static_cast<double>(k)) / static_cast<double>(values.size());
  }
  // Bounds of five standard deviations of each sample moment of a million normal numbers.
  EXPECT_NEAR(moments[1], 0, 5e-3);
  EXPECT_NEAR(moments[2], 1, 5e-3 * std::sqrt(2.0));
  EXPECT_NEAR(moments[3], 0, 5e-3 * std::sqrt(15.0));
  EXPECT_NEAR(moments[4], 3, 5e-3 * std::sqrt(96.0));
}

TEST(Initialize, NeighboursAreNotCorrelated) {
  const std::vector<float> values = whole(matrix("lm_head.weight", 1000, 1000));
  for (const std::size_t lag : {1U, 2U, 3U, 4U, 1000U}) {
    double sum = 0;
    for (std::size_t i = lag; i < values.size(); ++i) sum += values[i] * values[i - lag] / 4e-4;
    EXPECT_NEAR(sum / 1e6, 0, 5e-3) << lag;
  }
}

TEST(Initialize, NormsAreOneAndBiasesZero) {
  const Parameter norm{.name = "n", .rows = 1, .cols = 9, .role = ParameterRole::kNormWeight};
  const Parameter bias{.name = "b", .rows = 1, .cols = 9, .role = ParameterRole::kBias};
  EXPECT_EQ(whole(norm), std::vector<float>(9, 1.0F));
  EXPECT_EQ(whole(bias), std::vector<float>(9, 0.0F));
}

// Elements past 2^34 come from blocks past 2^32.
TEST(Initialize, IndicesPast32BitsDoNotRepeat) {
  const Parameter huge = matrix("x", std::int64_t{1} << 20, std::int64_t{1} << 20);
  std::vector<float> near(8);
  std::vector<float> far(8);
  initialize(huge, preset("demo"), 7, 0, near);
  initialize(huge, preset("demo"), 7, std::int64_t{1} << 34, far);
  EXPECT_NE(near, far);
}

TEST(Initialize, ABlockPastTheEndBreaksTheContract) {
  std::vector<float> values(2);
  const Parameter parameter = matrix("x", 1, 4);
  EXPECT_THROW(initialize(parameter, preset("demo"), 7, 3, values), ContractViolation);
  EXPECT_THROW(initialize(parameter, preset("demo"), 7, -1, values), ContractViolation);
}

}  // namespace
}  // namespace ebbtide::model
