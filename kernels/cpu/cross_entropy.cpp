// loss += lse(row) - row[target]; gradient = (softmax(row) - onehot(target)) * scale, in place.
//
// One row a block. Exponentials are summed in fp32 over pieces of a row, the pieces in double; the
// rows' losses are kept and added in order by the caller.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/element.hpp"
#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/ops.hpp"

namespace ebbtide::kernels::cpu {
namespace {

constexpr std::int64_t kBatch = 4096;  // rows whose losses are held at a time
constexpr std::int64_t kPiece = 1024;  // columns summed in fp32
static_assert(kBatch * sizeof(double) <= Team::kSharedBytes);

float row_maximum(const float* x, std::int64_t count) {
  float maximum = x[0];
#pragma omp simd reduction(max : maximum)
  for (std::int64_t i = 0; i < count; ++i) maximum = std::max(maximum, x[i]);
  return maximum;
}

// x = exp(x - maximum); returns the sum.
double exponentiate(float* x, std::int64_t count, float maximum) {
  double total = 0;
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    const std::int64_t end = std::min(begin + kPiece, count);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = begin; i < end; ++i) {
      x[i] = exponential(x[i] - maximum);
      sum += x[i];
    }
    total += static_cast<double>(sum);
  }
  return total;
}

template <typename T>
void write_row(const float* x, T* y, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = from_float<T>(x[i]);
}

// Returns the row's loss and leaves its gradient in x.
double gradient_in_place(float* x, std::int64_t count, std::uint32_t target, float scale) {
  if (target == kIgnoredTarget) {
    std::fill_n(x, count, 0.0F);
    return 0;
  }
  const float maximum = row_maximum(x, count);
  const double target_logit = static_cast<double>(x[target]);
  const double sum = exponentiate(x, count, maximum);
  const auto factor = static_cast<float>(static_cast<double>(scale) / sum);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) x[i] *= factor;
  x[target] -= scale;
  return static_cast<double>(maximum) + std::log(sum) - target_logit;
}

template <typename T>
double run_row(const CrossEntropy& op, std::int64_t row) {
  const std::int64_t count = op.logits.cols;
  float* x = data<float>(op.logits) + row * count;
  const double loss = gradient_in_place(x, count, op.targets[row], op.scale);
  if (op.dlogits.data != op.logits.data) write_row(x, data<T>(op.dlogits) + row * count, count);
  return loss;
}

}  // namespace

void run(const CrossEntropy& op, Team& team) {
  check_shape(op.logits, op.logits.rows, op.logits.cols, DType::kF32);
  check_shape(op.dlogits, op.logits.rows, op.logits.cols, op.dlogits.dtype);
  double* losses = team.shared<double>().data();
  with_element(op.dlogits.dtype, [&](auto element) {
    using T = decltype(element);
    for (std::int64_t b = 0; b < block_count(op.logits.rows, kBatch); ++b) {
      const Range rows = block_range(b, kBatch, op.logits.rows);
      team.for_each_block(rows.size(),
                          [&](std::int64_t i, int) { losses[i] = run_row<T>(op, rows.begin + i); });
      for (std::int64_t i = 0; i < rows.size(); ++i) *op.loss_sum += losses[i];
    }
  });
}

}  // namespace ebbtide::kernels::cpu
