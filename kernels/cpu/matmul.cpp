// out (M, N) = op(a) (M, K) . op(b) (K, N): 2 M N K flops.
//
// out is cut in tiles, one a block. A tile goes over K in blocks, added in order, in fp32 in the
// member's scratch. oneDNN multiplies a block's operands where they are, if it is fast in their
// dtype; bf16 operands are else widened to fp32 (exactly) for it. Where it is fast in neither, the
// operands' parts are copied into panels, as fp32, for the micro-kernel of tile_product.
//
// Tiles and blocks depend on the shape alone, so threads change no bit.
#include <algorithm>
#include <string>

#include "kernels/cpu/element.hpp"
#include "kernels/cpu/native_product.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/panels.hpp"
#include "kernels/cpu/parts.hpp"

namespace ebbtide::kernels::cpu {
namespace {

constexpr std::int64_t kMaxTileRows = 256;
constexpr std::int64_t kMaxTileCols = 512;
// A panel of b (16 KiB of fp32) stays in the first-level cache, a tile's part of a in the second.
constexpr std::int64_t kDepth = 256;
static_assert(kTokenBlock % kDepth == 0);
constexpr std::int64_t kMaxBlocksInPlace = 2;
constexpr std::int64_t kWantedTiles = 8;  // for balance over the threads

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

struct TileShape {
  std::int64_t rows = kMaxTileRows;
  std::int64_t cols = kMaxTileCols;

  std::int64_t count(const Sizes& s) const {
    return block_count(s.m, rows) * block_count(s.n, cols);
  }
};

TileShape tile_shape(const Sizes& s) {
  TileShape shape;
  while (shape.count(s) < kWantedTiles && shape.cols > 128) shape.cols /= 2;
  while (shape.count(s) < kWantedTiles && shape.rows > 128) shape.rows /= 2;
  return shape;
}

struct Tile {
  const Matmul& op;
  Range rows;  // of out
  Range cols;
  bool in_place = false;
  float* c = nullptr;  // the sums (rows, cols), in out itself where that can be
  std::int64_t c_stride = 0;
  std::span<float> scratch = {};  // the rest of the member's
};

// Rows [rows] and columns [cols] of what is stored.
template <typename T>
Window<T> window(const ConstTensor& t, Range rows, Range cols) {
  return {data<T>(t) + rows.begin * t.cols + cols.begin, rows.size(), cols.size(), t.cols};
}

struct PanelBuffers {
  Panels a;      // (kMaxTileRows, kDepth)
  Panels b;      // (kDepth, kMaxTileCols)
  float* panel;  // one of either, before it is transposed

  explicit PanelBuffers(Parts parts)
      : a(take_panels(parts, kMaxTileRows, kDepth)),
        b(take_panels(parts, kDepth, kMaxTileCols)),
        panel(parts.take(kDepth * kPanel)) {}
};

// b's part in panels. Stored (N, K), a panel's columns are stored rows: it is transposed, one panel
// at a time.
template <typename T>
void load_b(const Tile& tile, Range ks, const PanelBuffers& t) {
  if (tile.op.b_layout == Layout::kAsStored) {
    return load_panels(window<T>(tile.op.b, ks, tile.cols), 1.0F, t.b);
  }
  const Panels panel{t.panel, kPanel};
  for (std::int64_t n = tile.cols.begin; n < tile.cols.end; n += kPanel) {
    const Range cols{n, std::min(n + kPanel, tile.cols.end)};
    load_panels(window<T>(tile.op.b, cols, ks), 1.0F, panel);
    transpose_panels(panel.data, panel.panel(), kPanel, in_panels(ks.size()),
                     t.b.data + (n - tile.cols.begin) / kPanel * t.b.panel(), t.b.panel());
  }
}

// a's part in panels. Stored (K, M), a panel of it is that of kPanel rows, transposed.
template <typename T>
void load_a(const Tile& tile, Range ks, const PanelBuffers& t) {
  if (tile.op.a_layout == Layout::kAsStored) {
    return load_panels(window<T>(tile.op.a, tile.rows, ks), 1.0F, t.a);
  }
  const Panels panel{t.panel, kDepth};
  for (std::int64_t m = tile.rows.begin; m < tile.rows.end; m += kPanel) {
    const Range rows{m, std::min(m + kPanel, tile.rows.end)};
    load_panels(window<T>(tile.op.a, ks, rows), 1.0F, panel);
    transpose_panels(panel.data, panel.panel(), in_panels(ks.size()), kPanel,
                     t.a.data + (m - tile.rows.begin) * kPanel, t.a.panel());
  }
}

// c = a . b over [ks], or c += ...
template <typename T>
void multiply_depth(const Tile& tile, Range ks, Accumulate accumulate) {
  const PanelBuffers t(Parts(tile.scratch));
  load_a<T>(tile, ks, t);
  load_b<T>(tile, ks, t);
  multiply_tile({.m = tile.rows.size(),
                 .n = in_panels(tile.cols.size()),
                 .k = in_panels(ks.size()),
                 .a = t.a.data,
                 .a_stride = kPanel,
                 .a_panel = t.a.panel(),
                 .b = t.b.data,
                 .b_panel = t.b.panel(),
                 .c = tile.c,
                 .c_stride = tile.c_stride,
                 .accumulate = accumulate});
}

// What is stored of op(x)'s rows and columns.
template <typename T>
Window<T> stored_window(const ConstTensor& x, Layout layout, Range rows, Range cols) {
  return layout == Layout::kAsStored ? window<T>(x, rows, cols) : window<T>(x, cols, rows);
}

// `from` as fp32, in `to`.
template <typename T>
Window<float> widened(const Window<T>& from, float* to) {
  const std::int64_t stride = spread(from.cols);
  for (std::int64_t r = 0; r < from.rows; ++r) {
    const T* row = from.data + r * from.stride;
#pragma omp simd
    for (std::int64_t c = 0; c < from.cols; ++c) to[r * stride + c] = to_float(row[c]);
  }
  return {to, from.rows, from.cols, stride};
}

template <typename T>
void multiply_windows(const Tile& tile, const Window<T>& a, const Window<T>& b, std::int64_t k,
                      Accumulate accumulate, std::span<float> scratch, NativeProducts& natives) {
  natives.multiply({.dtype = std::is_same_v<T, float> ? DType::kF32 : DType::kBf16,
                    .m = tile.rows.size(),
                    .n = tile.cols.size(),
                    .k = k,
                    .a = a.data,
                    .lda = a.stride,
                    .a_layout = tile.op.a_layout,
                    .b = b.data,
                    .ldb = b.stride,
                    .b_layout = tile.op.b_layout,
                    .c = tile.c,
                    .ldc = tile.c_stride,
                    .accumulate = accumulate},
                   std::as_writable_bytes(scratch));
}

// The same by oneDNN.
template <typename T>
void multiply_natively(const Tile& tile, Range ks, Accumulate accumulate, NativeProducts& natives) {
  const Matmul& op = tile.op;
  const Window<T> a = stored_window<T>(op.a, op.a_layout, tile.rows, ks);
  const Window<T> b = stored_window<T>(op.b, op.b_layout, ks, tile.cols);
  if (NativeProducts::is_fast(op.a.dtype)) {
    return multiply_windows(tile, a, b, ks.size(), accumulate, tile.scratch, natives);
  }
  Parts parts(tile.scratch);
  float* a_memory = parts.take(a.rows * spread(a.cols));
  float* b_memory = parts.take(b.rows * spread(b.cols));
  multiply_windows(tile, widened(a, a_memory), widened(b, b_memory), ks.size(), accumulate,
                   parts.rest(), natives);
}

// c = out.
void read_sums(const Tile& tile) {
  const Window<float> out = window<float>(tile.op.out, tile.rows, tile.cols);
  for (std::int64_t r = 0; r < out.rows; ++r) {
    std::copy_n(out.data + r * out.stride, out.cols, tile.c + r * tile.c_stride);
  }
}

// out = c [+ bias] [+ residual].
template <typename T, typename Out>
void write_sums(const Tile& tile) {
  const std::int64_t n = tile.op.out.cols;
  const T* bias = data<T>(tile.op.bias);
  const bool has_residual = tile.op.residual.data != nullptr;
  for (std::int64_t r = tile.rows.begin; r < tile.rows.end; ++r) {
    const float* c = tile.c + (r - tile.rows.begin) * tile.c_stride - tile.cols.begin;
    const T* residual = has_residual ? data<T>(tile.op.residual) + r * n : nullptr;
    Out* out = data<Out>(tile.op.out) + r * n;
#pragma omp simd
    for (std::int64_t i = tile.cols.begin; i < tile.cols.end; ++i) {
      float x = c[i];
      if (bias != nullptr) x += to_float(bias[i]);
      if (residual != nullptr) x += to_float(residual[i]);
      out[i] = from_float<Out>(x);
    }
  }
}

// The length of K's blocks: even ones for oneDNN, but tokens go by kTokenBlock.
std::int64_t block_depth(const Matmul& op, std::int64_t depth, const NativeProducts* natives) {
  if (natives == nullptr) return kDepth;
  if (op.a_layout == Layout::kTransposed) return kTokenBlock;
  return in_panels(block_count(depth, block_count(depth, kTokenBlock)));
}

template <typename T>
void run_tile(const Tile& tile, std::int64_t depth, NativeProducts* natives) {
  const Matmul& op = tile.op;
  if (op.accumulate == Accumulate::kAdd && !tile.in_place) read_sums(tile);
  const std::int64_t block = block_depth(op, depth, natives);
  for (std::int64_t i = 0; i < block_count(depth, block); ++i) {
    const Range ks = block_range(i, block, depth);
    const Accumulate accumulate = i > 0 ? Accumulate::kAdd : op.accumulate;
    if (natives != nullptr) {
      multiply_natively<T>(tile, ks, accumulate, *natives);
    } else {
      multiply_depth<T>(tile, ks, accumulate);
    }
  }
  if (tile.in_place) return;
  if (op.out.dtype == DType::kF32) return write_sums<T, float>(tile);
  write_sums<T, Bf16>(tile);
}

// Sums that are come back to block by block stay in the second-level cache when they lie close by
// each other, which rows of out do not. The micro-kernel writes whole panels.
bool sums_in_place(const Tile& tile, std::int64_t blocks, const NativeProducts* natives) {
  const Matmul& op = tile.op;
  return blocks <= kMaxBlocksInPlace && op.out.dtype == DType::kF32 && op.bias.data == nullptr &&
         op.residual.data == nullptr && (natives != nullptr || tile.cols.size() % kPanel == 0);
}

// Neighbours share their part of the operand with more lines, which then comes from memory once.
Tile tile_at(const Matmul& op, const Sizes& s, const TileShape& shape, std::int64_t index) {
  const std::int64_t down = block_count(s.m, shape.rows);
  const std::int64_t across = block_count(s.n, shape.cols);
  const std::int64_t row = s.n > s.m ? index % down : index / across;
  const std::int64_t col = s.n > s.m ? index / down : index % across;
  return {op, block_range(row, shape.rows, s.m), block_range(col, shape.cols, s.n)};
}

void place_sums(Tile& tile, std::int64_t depth, const NativeProducts* natives,
                std::span<float> scratch) {
  Parts parts(scratch);
  const std::int64_t blocks = block_count(depth, block_depth(tile.op, depth, natives));
  tile.in_place = sums_in_place(tile, blocks, natives);
  if (tile.in_place) {
    tile.c_stride = tile.op.out.cols;
    tile.c = data<float>(tile.op.out) + tile.rows.begin * tile.c_stride + tile.cols.begin;
  } else {
    tile.c_stride = spread(in_panels(tile.cols.size()));
    tile.c = parts.take(tile.rows.size() * tile.c_stride);
  }
  tile.scratch = parts.rest();
}

}  // namespace

void run(const Matmul& op, Team& team, NativeProducts* natives) {
  const Sizes s = checked_sizes(op);
  const TileShape shape = tile_shape(s);
  with_element(op.a.dtype, [&](auto element) {
    team.for_each_block(shape.count(s), [&](std::int64_t i, int member) {
      Tile tile = tile_at(op, s, shape, i);
      place_sums(tile, s.k, natives, team.scratch<float>(member));
      run_tile<decltype(element)>(tile, s.k, natives);
    });
  });
}

}  // namespace ebbtide::kernels::cpu
