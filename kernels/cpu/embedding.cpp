// Rows of a table by token id, and their gradient: dtable[id] += dx, in token order. The backward
// is cut by columns, so that no two blocks add to one element.
#include <cstring>

#include "kernels/cpu/element.hpp"
#include "kernels/cpu/ops.hpp"

namespace ebbtide::kernels::cpu {
namespace {

constexpr std::int64_t kRows = 64;
constexpr std::int64_t kCols = 128;

template <typename T>
void add_rows(const EmbeddingBackward& op, Range cols) {
  for (std::int64_t r = 0; r < op.dx.rows; ++r) {
    const T* from = data<T>(op.dx) + r * op.dx.cols + cols.begin;
    float* to = data<float>(op.dtable) + std::int64_t{op.ids[r]} * op.dx.cols + cols.begin;
#pragma omp simd
    for (std::int64_t i = 0; i < cols.size(); ++i) to[i] += to_float(from[i]);
  }
}

}  // namespace

void run(const EmbeddingForward& op, Team& team) {
  check_shape(op.x, op.x.rows, op.table.cols, op.table.dtype);
  const std::int64_t row_bytes = op.x.cols * static_cast<std::int64_t>(dtype_bytes(op.table.dtype));
  team.for_each_block(block_count(op.x.rows, kRows), [&](std::int64_t i, int) {
    const Range rows = block_range(i, kRows, op.x.rows);
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      std::memcpy(data<std::byte>(op.x) + r * row_bytes,
                  data<std::byte>(op.table) + std::int64_t{op.ids[r]} * row_bytes,
                  static_cast<std::size_t>(row_bytes));
    }
  });
}

void run(const EmbeddingBackward& op, Team& team) {
  check_shape(op.dtable, op.dtable.rows, op.dx.cols, DType::kF32);
  with_element(op.dx.dtype, [&](auto element) {
    team.for_each_block(block_count(op.dx.cols, kCols), [&](std::int64_t i, int) {
      add_rows<decltype(element)>(op, block_range(i, kCols, op.dx.cols));
    });
  });
}

}  // namespace ebbtide::kernels::cpu
