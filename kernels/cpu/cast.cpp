// y = x with another dtype, or a copy.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/elementwise.hpp"
#include "kernels/cpu/ops.hpp"

namespace ebbtide::kernels::cpu {
namespace {

constexpr std::int64_t kBlock = 32768;  // elements

template <typename From, typename To>
void convert(const From* x, To* y, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = from_float<To>(to_float(x[i]));
}

void copy(const Cast& op, std::int64_t at, std::int64_t count) {
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(op.x.dtype));
  std::memcpy(data<std::byte>(op.y) + at * bytes, data<std::byte>(op.x) + at * bytes,
              static_cast<std::size_t>(count * bytes));
}

}  // namespace

void run(const Cast& op, Team& team) {
  check_shape(op.y, op.x.rows, op.x.cols, op.y.dtype);
  if (op.x.dtype == op.y.dtype)
    return for_each_stretch(team, op.x, kBlock,
                            [&](std::int64_t at, std::int64_t count) { copy(op, at, count); });
  with_element(op.x.dtype, [&](auto from) {
    with_element(op.y.dtype, [&](auto to) {
      for_each_stretch(team, op.x, kBlock, [&](std::int64_t at, std::int64_t count) {
        convert(data<decltype(from)>(op.x) + at, data<decltype(to)>(op.y) + at, count);
      });
    });
  });
}

}  // namespace ebbtide::kernels::cpu
