// out (M, N) = op(a) (M, K) . op(b) (K, N): 2 M N K flops.
//
// out is cut in fixed tiles, one a block. A tile is multiplied by oneDNN on one thread; bf16
// operands are widened to fp32 (exactly) in the member's scratch, a block of K at a time.
#include <algorithm>
#include <string>

#include "kernels/cpu/element.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/product.hpp"

namespace ebbtide::kernels::cpu {
namespace {

constexpr std::int64_t kTileRows = 256;
constexpr std::int64_t kTileCols = 256;
constexpr std::int64_t kWidenedK = 1024;

struct Sizes {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

Sizes checked_sizes(const Matmul& op) {
  const bool a_stored = op.a_layout == Layout::kAsStored;
  const bool b_stored = op.b_layout == Layout::kAsStored;
  const Sizes s{op.out.rows, op.out.cols, a_stored ? op.a.cols : op.a.rows};
  check_shape(op.a, a_stored ? s.m : s.k, a_stored ? s.k : s.m, op.a.dtype);
  check_shape(op.b, b_stored ? s.k : s.n, b_stored ? s.n : s.k, op.a.dtype);
  EBBTIDE_CHECK(op.out.dtype == DType::kF32 || op.out.dtype == op.a.dtype, describe(op.out));
  const bool plain = op.bias.data == nullptr && op.residual.data == nullptr;
  EBBTIDE_CHECK(op.accumulate == Accumulate::kOverwrite || (plain && op.out.dtype == DType::kF32),
                "accumulates into " + describe(op.out));
  if (op.bias.data != nullptr) check_shape(op.bias, 1, s.n, op.a.dtype);
  if (op.residual.data != nullptr) check_shape(op.residual, s.m, s.n, op.a.dtype);
  return s;
}

// Where rows [lines] and columns [k] of one operand lie as floats.
struct Panel {
  const float* data;
  std::int64_t leading;
};

// `lines` index the dimension that out has (M or N), `ks` the one that is summed; `lines_first`
// says whether a stored row is a line.
Panel panel(const float* whole, std::int64_t leading, bool lines_first, Range lines, Range ks,
            float*) {
  const std::int64_t row = lines_first ? lines.begin : ks.begin;
  const std::int64_t col = lines_first ? ks.begin : lines.begin;
  return {whole + row * leading + col, leading};
}
Panel panel(const Bf16* whole, std::int64_t leading, bool lines_first, Range lines, Range ks,
            float* widened) {
  const Range rows = lines_first ? lines : ks;
  const Range cols = lines_first ? ks : lines;
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const Bf16* from = whole + r * leading + cols.begin;
    float* to = widened + (r - rows.begin) * cols.size();
#pragma omp simd
    for (std::int64_t c = 0; c < cols.size(); ++c) to[c] = to_float(from[c]);
  }
  return {widened, cols.size()};
}

template <typename T>
void multiply_tile(const Matmul& op, const Sizes& s, Range rows, Range cols, float* c,
                   std::int64_t ldc, std::span<float> scratch) {
  float* widened_a = scratch.data();
  float* widened_b = widened_a + kTileRows * kWidenedK;
  const std::int64_t block = op.a_layout == Layout::kTransposed ? kTokenBlock
                             : sizeof(T) == 2                   ? kWidenedK
                                                                : std::max<std::int64_t>(s.k, 1);
  Accumulate accumulate = op.accumulate;
  for (std::int64_t i = 0; i < std::max<std::int64_t>(block_count(s.k, block), 1); ++i) {
    const Range ks = block_range(i, block, s.k);
    const Panel a =
        panel(data<T>(op.a), op.a.cols, op.a_layout == Layout::kAsStored, rows, ks, widened_a);
    const Panel b =
        panel(data<T>(op.b), op.b.cols, op.b_layout == Layout::kTransposed, cols, ks, widened_b);
    multiply({.m = rows.size(),
              .n = cols.size(),
              .k = ks.size(),
              .a = a.data,
              .lda = a.leading,
              .a_layout = op.a_layout,
              .b = b.data,
              .ldb = b.leading,
              .b_layout = op.b_layout,
              .c = c,
              .ldc = ldc,
              .accumulate = accumulate});
    accumulate = Accumulate::kAdd;
  }
}

// out = c [+ bias] [+ residual] on one tile.
template <typename T, typename Out>
void finish_tile(const Matmul& op, Range rows, Range cols, const float* c, std::int64_t ldc) {
  const std::int64_t n = op.out.cols;
  const T* bias = data<T>(op.bias);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const float* from = c + (r - rows.begin) * ldc - cols.begin;
    const T* residual = op.residual.data == nullptr ? nullptr : data<T>(op.residual) + r * n;
    Out* out = data<Out>(op.out) + r * n;
#pragma omp simd
    for (std::int64_t i = cols.begin; i < cols.end; ++i) {
      float x = from[i];
      if (bias != nullptr) x += to_float(bias[i]);
      if (residual != nullptr) x += to_float(residual[i]);
      out[i] = from_float<Out>(x);
    }
  }
}

template <typename T>
void run_tile(const Matmul& op, const Sizes& s, Range rows, Range cols, std::span<float> scratch) {
  if (op.out.dtype != DType::kF32) {
    const auto size = static_cast<std::size_t>(kTileRows * kTileCols);
    multiply_tile<T>(op, s, rows, cols, scratch.data(), cols.size(), scratch.subspan(size));
    finish_tile<T, Bf16>(op, rows, cols, scratch.data(), cols.size());
    return;
  }
  float* c = data<float>(op.out) + rows.begin * s.n + cols.begin;
  multiply_tile<T>(op, s, rows, cols, c, s.n, scratch);
  if (op.bias.data != nullptr || op.residual.data != nullptr) {
    finish_tile<T, float>(op, rows, cols, c, s.n);
  }
}

}  // namespace

void run(const Matmul& op, Team& team) {
  const Sizes s = checked_sizes(op);
  const std::int64_t across = block_count(s.n, kTileCols);
  with_element(op.a.dtype, [&](auto element) {
    using T = decltype(element);
    team.for_each_block(block_count(s.m, kTileRows) * across, [&](std::int64_t i, int member) {
      run_tile<T>(op, s, block_range(i / across, kTileRows, s.m),
                  block_range(i % across, kTileCols, s.n), team.scratch<float>(member));
    });
  });
}

}  // namespace ebbtide::kernels::cpu
