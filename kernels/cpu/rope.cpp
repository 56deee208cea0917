// Rotary position embedding: (x1, x2) -> (x1 cos - x2 sin, x2 cos + x1 sin) for the pairs
// (i, i + D/2) of each head. The angle is position * frequency in double: at position 10^6 an fp32
// angle is off by 0.06.
#include <cmath>
#include <numbers>

#include "kernels/cpu/element.hpp"
#include "kernels/cpu/ops.hpp"

namespace ebbtide::kernels::cpu {
namespace {

constexpr std::int64_t kRows = 16;

// Llama 3's rule: long waves are slowed by the factor, short ones kept, those between blended.
double scaled_frequency(double frequency, const RopeScaling& s) {
  if (s.factor == 1.0) return frequency;
  const double turns = s.original_context * frequency / (2 * std::numbers::pi);
  if (turns > s.high_frequency_factor) return frequency;
  if (turns < s.low_frequency_factor) return frequency / s.factor;
  const double kept =
      (turns - s.low_frequency_factor) / (s.high_frequency_factor - s.low_frequency_factor);
  return (1 - kept) * frequency / s.factor + kept * frequency;
}

void fill_table(const RopeTable& op, Range rows) {
  const std::int64_t half = op.table.cols / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(op.table.cols);
    const double frequency = scaled_frequency(std::pow(op.theta, exponent), op.scaling);
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      float* row = data<float>(op.table) + r * op.table.cols;
      const double angle = static_cast<double>(op.first_position + r) * frequency;
      row[i] = static_cast<float>(std::cos(angle));
      row[half + i] = static_cast<float>(std::sin(angle));
    }
  }
}

template <typename T>
void rotate_head(T* x, const float* cosine, const float* sine, float sign, std::int64_t half) {
  T* second = x + half;
#pragma omp simd
  for (std::int64_t i = 0; i < half; ++i) {
    const float x1 = to_float(x[i]);
    const float x2 = to_float(second[i]);
    const float s = sine[i] * sign;
    x[i] = from_float<T>(x1 * cosine[i] - x2 * s);
    second[i] = from_float<T>(x2 * cosine[i] + x1 * s);
  }
}

}  // namespace

void run(const RopeTable& op, Team& team) {
  check_shape(op.table, op.table.rows, op.table.cols / 2 * 2, DType::kF32);
  team.for_each_block(block_count(op.table.rows, kRows), [&](std::int64_t i, int) {
    fill_table(op, block_range(i, kRows, op.table.rows));
  });
}

void run(const Rope& op, Team& team) {
  const std::int64_t dim = op.head_dim;
  EBBTIDE_CHECK(dim > 0 && dim % 2 == 0 && op.x.cols % dim == 0, describe(op.x));
  check_shape(op.table, op.x.rows, dim, DType::kF32);
  const float sign = op.rotation == Rotation::kForward ? 1.0F : -1.0F;
  with_element(op.x.dtype, [&](auto element) {
    using T = decltype(element);
    team.for_each_block(block_count(op.x.rows, kRows), [&](std::int64_t i, int) {
      const Range rows = block_range(i, kRows, op.x.rows);
      for (std::int64_t r = rows.begin; r < rows.end; ++r) {
        const float* cosine = data<float>(op.table) + r * dim;
        T* row = data<T>(op.x) + r * op.x.cols;
        for (std::int64_t at = 0; at < op.x.cols; at += dim) {
          rotate_head(row + at, cosine, cosine + dim / 2, sign, dim / 2);
        }
      }
    });
  });
}

}  // namespace ebbtide::kernels::cpu
