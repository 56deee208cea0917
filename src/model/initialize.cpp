#include "src/model/initialize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "ebbtide/error.hpp"
#include "src/model/random.hpp"

namespace ebbtide::model {
namespace {

constexpr std::size_t kBlock = 4;  // elements made from one Philox block

// In (0, 1): zero would have no logarithm.
double uniform(std::uint32_t word) {
  return (word + 0.5) * 0x1p-32;
}

// Box and Muller 1958: two uniform numbers make two normal ones. Reaches 6.7 standard deviations.
std::array<double, kBlock> normals(const PhiloxCounter& words) {
  std::array<double, kBlock> z{};
  for (std::size_t i = 0; i < kBlock; i += 2) {
    const double radius = std::sqrt(-2.0 * std::log(uniform(words[i])));
    const double angle = 2.0 * std::numbers::pi * uniform(words[i + 1]);
    z[i] = radius * std::cos(angle);
    z[i + 1] = radius * std::sin(angle);
  }
  return z;
}

void fill_normal(std::uint64_t seed, std::uint64_t stream, double deviation, std::uint64_t offset,
                 std::span<float> values) {
  for (std::size_t i = 0; i < values.size();) {
    const std::uint64_t element = offset + i;
    const std::array<double, kBlock> z = normals(random_block(seed, stream, element / kBlock));
    const std::size_t first = element % kBlock;
    const std::size_t count = std::min(kBlock - first, values.size() - i);
    for (std::size_t j = 0; j < count; ++j)
      values[i + j] = static_cast<float>(deviation * z[first + j]);
    i += count;
  }
}

}  // namespace

void initialize(const Parameter& parameter, const ModelConfig& config, std::uint64_t seed,
                std::int64_t offset, std::span<float> values) {
  EBBTIDE_CHECK(offset >= 0 && static_cast<std::uint64_t>(offset) + values.size() <=
                                   static_cast<std::uint64_t>(parameter.count()),
                fmt::format("elements {} to {} of {}, which has {}", offset,
                            static_cast<std::uint64_t>(offset) + values.size(), parameter.name,
                            parameter.count()));
  switch (parameter.role) {
    case ParameterRole::kNormWeight:
      std::ranges::fill(values, 1.0F);
      return;
    case ParameterRole::kBias:
      std::ranges::fill(values, 0.0F);
      return;
    case ParameterRole::kMatrix:
    case ParameterRole::kEmbedding:
      fill_normal(seed, stream_number(parameter.name), config.initializer_range,
                  static_cast<std::uint64_t>(offset), values);
  }
}

}  // namespace ebbtide::model
