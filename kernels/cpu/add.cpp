// y = a + b.
#include "kernels/cpu/elementwise.hpp"
#include "kernels/cpu/ops.hpp"

namespace ebbtide::kernels::cpu {
namespace {

constexpr std::int64_t kBlock = 32768;  // elements

template <typename T>
void add_block(const T* a, const T* b, T* y, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = from_float<T>(to_float(a[i]) + to_float(b[i]));
}

}  // namespace

void run(const Add& op, Team& team) {
  check_same_shape(op.b, op.a);
  check_same_shape(op.y, op.a);
  with_element(op.a.dtype, [&](auto element) {
    using T = decltype(element);
    for_each_stretch(team, op.a, kBlock, [&](std::int64_t at, std::int64_t count) {
      add_block(data<T>(op.a) + at, data<T>(op.b) + at, data<T>(op.y) + at, count);
    });
  });
}

}  // namespace ebbtide::kernels::cpu
