// y = x with another dtype, or a copy.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/element.hpp"
#include "kernels/cpu/ops.hpp"

namespace ebbtide::kernels::cpu {
namespace {

constexpr std::int64_t kBlock = 32768;  // elements

template <typename From, typename To>
void convert(const From* x, To* y, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = from_float<To>(to_float(x[i]));
}

void copy(const Cast& op, Range range) {
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(op.x.dtype));
  std::memcpy(data<std::byte>(op.y) + range.begin * bytes,
              data<std::byte>(op.x) + range.begin * bytes,
              static_cast<std::size_t>(range.size() * bytes));
}

}  // namespace

void run(const Cast& op, Team& team) {
  check_shape(op.y, op.x.rows, op.x.cols, op.y.dtype);
  const std::int64_t count = op.x.rows * op.x.cols;
  if (op.x.dtype == op.y.dtype) {
    team.for_each_block(block_count(count, kBlock),
                        [&](std::int64_t i, int) { copy(op, block_range(i, kBlock, count)); });
    return;
  }
  with_element(op.x.dtype, [&](auto from) {
    with_element(op.y.dtype, [&](auto to) {
      team.for_each_block(block_count(count, kBlock), [&](std::int64_t i, int) {
        const Range range = block_range(i, kBlock, count);
        convert(data<decltype(from)>(op.x) + range.begin, data<decltype(to)>(op.y) + range.begin,
                range.size());
      });
    });
  });
}

}  // namespace ebbtide::kernels::cpu
