// y = x / rms(x) * w by row: reads x, writes y; about 4 flops an element.
//
// Backward, with r = 1 / rms, n = x r, g = dy w: dx = r (g - n mean(g n)), dw += dy n over rows.
// dw comes before dx, because dx may overwrite dy; its sum over rows is cut by columns.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/element.hpp"
#include "kernels/cpu/ops.hpp"

namespace ebbtide::kernels::cpu {
namespace {

constexpr std::int64_t kRows = 16;     // of a block
constexpr std::int64_t kCols = 128;    // of a block of dweight
constexpr std::int64_t kBatch = 4096;  // rows whose 1/rms is held at a time
static_assert(kBatch % kTokenBlock == 0 && kBatch * sizeof(float) <= Team::kSharedBytes);

template <typename T>
float inverse_rms(const T* x, std::int64_t count, float epsilon) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = to_float(x[i]);
    sum += value * value;
  }
  return 1.0F / std::sqrt(sum / static_cast<float>(count) + epsilon);
}

template <typename T>
void forward_row(const T* x, const T* weight, T* y, std::int64_t count, float epsilon) {
  const float inverse = inverse_rms(x, count, epsilon);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    y[i] = from_float<T>(to_float(x[i]) * inverse * to_float(weight[i]));
  }
}

template <typename T>
void backward_row(const RmsNormBackward& op, std::int64_t row, float inverse) {
  const std::int64_t count = op.x.cols;
  const T* x = data<T>(op.x) + row * count;
  const T* weight = data<T>(op.weight);
  const T* dy = data<T>(op.dy) + row * count;
  const T* residual = op.residual.data == nullptr ? nullptr : data<T>(op.residual) + row * count;
  T* dx = data<T>(op.dx) + row * count;
  float dot = 0;
#pragma omp simd reduction(+ : dot)
  for (std::int64_t i = 0; i < count; ++i) {
    dot += to_float(dy[i]) * to_float(weight[i]) * to_float(x[i]);
  }
  const float slope = dot * inverse * inverse / static_cast<float>(count);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = to_float(dy[i]) * to_float(weight[i]);
    const float d = inverse * (g - to_float(x[i]) * slope);
    dx[i] = from_float<T>(residual == nullptr ? d : d + to_float(residual[i]));
  }
}

// Adds rows [batch] of dy * n to columns [cols] of dweight, by blocks of kTokenBlock rows.
template <typename T>
void add_dweight(const RmsNormBackward& op, Range batch, Range cols, const float* inverse) {
  const T* x = data<T>(op.x);
  const T* dy = data<T>(op.dy);
  float* dweight = data<float>(op.dweight) + cols.begin;
  for (std::int64_t begin = batch.begin; begin < batch.end; begin += kTokenBlock) {
    std::array<float, kCols> sums{};
    for (std::int64_t r = begin; r < std::min(begin + kTokenBlock, batch.end); ++r) {
      const T* x_row = x + r * op.x.cols + cols.begin;
      const T* dy_row = dy + r * op.x.cols + cols.begin;
      const float scale = inverse[r - batch.begin];
#pragma omp simd
      for (std::int64_t i = 0; i < cols.size(); ++i) {
        sums[static_cast<std::size_t>(i)] += to_float(dy_row[i]) * (to_float(x_row[i]) * scale);
      }
    }
    for (std::int64_t i = 0; i < cols.size(); ++i) dweight[i] += sums[static_cast<std::size_t>(i)];
  }
}

template <typename T>
void backward_batch(const RmsNormBackward& op, Range batch, Team& team) {
  const std::int64_t cols = op.x.cols;
  float* inverse = team.shared<float>().data();
  const std::int64_t row_blocks = block_count(batch.size(), kRows);
  team.for_each_block(row_blocks, [&](std::int64_t i, int) {
    const Range rows = block_range(i, kRows, batch.size());
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      inverse[r] = inverse_rms(data<T>(op.x) + (batch.begin + r) * cols, cols, op.epsilon);
    }
  });
  team.for_each_block(block_count(cols, kCols), [&](std::int64_t i, int) {
    add_dweight<T>(op, batch, block_range(i, kCols, cols), inverse);
  });
  team.for_each_block(row_blocks, [&](std::int64_t i, int) {
    const Range rows = block_range(i, kRows, batch.size());
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      backward_row<T>(op, batch.begin + r, inverse[r]);
    }
  });
}

}  // namespace

void run(const RmsNormForward& op, Team& team) {
  check_same_shape(op.y, op.x);
  check_shape(op.weight, 1, op.x.cols, op.x.dtype);
  const std::int64_t cols = op.x.cols;
  with_element(op.x.dtype, [&](auto element) {
    using T = decltype(element);
    team.for_each_block(block_count(op.x.rows, kRows), [&](std::int64_t i, int) {
      const Range rows = block_range(i, kRows, op.x.rows);
      for (std::int64_t r = rows.begin; r < rows.end; ++r) {
        forward_row(data<T>(op.x) + r * cols, data<T>(op.weight), data<T>(op.y) + r * cols, cols,
                    op.epsilon);
      }
    });
  });
}

void run(const RmsNormBackward& op, Team& team) {
  check_same_shape(op.dy, op.x);
  check_same_shape(op.dx, op.x);
  check_shape(op.weight, 1, op.x.cols, op.x.dtype);
  check_shape(op.dweight, 1, op.x.cols, DType::kF32);
  if (op.residual.data != nullptr) check_same_shape(op.residual, op.x);
  with_element(op.x.dtype, [&](auto element) {
    for (std::int64_t i = 0; i < block_count(op.x.rows, kBatch); ++i) {
      backward_batch<decltype(element)>(op, block_range(i, kBatch, op.x.rows), team);
    }
  });
}

}  // namespace ebbtide::kernels::cpu
