// delta = rowsum over D of dout * out, by head (Dao 2023, sec. 3.2).
#include "kernels/cpu/element.hpp"
#include "kernels/cpu/ops.hpp"

namespace ebbtide::kernels::cpu {
namespace {

constexpr std::int64_t kRows = 32;

template <typename T>
float dot(const T* a, const T* b, std::int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += to_float(a[i]) * to_float(b[i]);
  return sum;
}

}  // namespace

void run(const AttentionDelta& op, Team& team) {
  EBBTIDE_CHECK(op.head_dim > 0 && op.out.cols % op.head_dim == 0, describe(op.out));
  const std::int64_t heads = op.out.cols / op.head_dim;
  check_same_shape(op.dout, op.out);
  check_shape(op.delta, op.out.rows, heads, DType::kF32);
  with_element(op.out.dtype, [&](auto element) {
    using T = decltype(element);
    team.for_each_block(block_count(op.out.rows, kRows), [&](std::int64_t i, int) {
      const Range rows = block_range(i, kRows, op.out.rows);
      for (std::int64_t at = rows.begin * heads; at < rows.end * heads; ++at) {
        data<float>(op.delta)[at] = dot(data<T>(op.out) + at * op.head_dim,
                                        data<T>(op.dout) + at * op.head_dim, op.head_dim);
      }
    });
  });
}

}  // namespace ebbtide::kernels::cpu
