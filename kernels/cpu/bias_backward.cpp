// dbias += column sums of dy, cut by columns; rows in order, by blocks of kTokenBlock.
#include <algorithm>
#include <array>

#include "kernels/cpu/element.hpp"
#include "kernels/cpu/ops.hpp"

namespace ebbtide::kernels::cpu {
namespace {

constexpr std::int64_t kCols = 128;

template <typename T>
void add_columns(const BiasBackward& op, Range cols) {
  float* dbias = data<float>(op.dbias) + cols.begin;
  for (std::int64_t begin = 0; begin < op.dy.rows; begin += kTokenBlock) {
    std::array<float, kCols> sums{};
    for (std::int64_t r = begin; r < std::min(begin + kTokenBlock, op.dy.rows); ++r) {
      const T* row = data<T>(op.dy) + r * op.dy.cols + cols.begin;
#pragma omp simd
      for (std::int64_t i = 0; i < cols.size(); ++i) {
        sums[static_cast<std::size_t>(i)] += to_float(row[i]);
      }
    }
    for (std::int64_t i = 0; i < cols.size(); ++i) dbias[i] += sums[static_cast<std::size_t>(i)];
  }
}

}  // namespace

void run(const BiasBackward& op, Team& team) {
  check_shape(op.dbias, 1, op.dy.cols, DType::kF32);
  with_element(op.dy.dtype, [&](auto element) {
    team.for_each_block(block_count(op.dy.cols, kCols), [&](std::int64_t i, int) {
      add_columns<decltype(element)>(op, block_range(i, kCols, op.dy.cols));
    });
  });
}

}  // namespace ebbtide::kernels::cpu
