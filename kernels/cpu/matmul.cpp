// out (M, N) = op(a) (M, K) . op(b) (K, N): 2 M N K flops.
//
// out is cut in tiles, one a block. A tile goes over K in blocks of kDepth, added in order, in
// fp32 in the member's scratch: the operands' parts are copied into panels, bf16 widened to fp32
// exactly, and multiplied by the micro-kernel of tile_product. An element's bits depend on K alone.
// On CPUs that multiply bf16, oneDNN's primitive takes the tile's product instead.
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

// A member's scratch, by parts.
struct Tiles {
  Panels a;      // (kMaxTileRows, kDepth)
  Panels b;      // (kDepth, kMaxTileCols)
  float* panel;  // one of either, before it is transposed
  float* c;      // (kMaxTileRows, kMaxTileCols)
  std::span<float> rest;

  explicit Tiles(Parts& parts)
      : a(take_panels(parts, kMaxTileRows, kDepth)),
        b(take_panels(parts, kDepth, kMaxTileCols)),
        panel(parts.take(kDepth * kPanel)),
        c(parts.take(kMaxTileRows * kMaxTileCols)),
        rest(parts.rest()) {}
};

struct Tile {
  const Matmul& op;
  Range rows;  // of out
  Range cols;

  std::int64_t c_stride() const { return in_panels(cols.size()); }
};

// Rows [rows] and columns [cols] of what is stored.
template <typename T>
Window<T> window(const ConstTensor& t, Range rows, Range cols) {
  return {data<T>(t) + rows.begin * t.cols + cols.begin, rows.size(), cols.size(), t.cols};
}

// b's part in panels. Stored (N, K), a panel's columns are stored rows: it is transposed, one panel
// at a time.
template <typename T>
void load_b(const Tile& tile, Range ks, const Tiles& t) {
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
void load_a(const Tile& tile, Range ks, const Tiles& t) {
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

// c += a . b over [ks].
template <typename T>
void multiply_depth(const Tile& tile, Range ks, const Tiles& t) {
  load_a<T>(tile, ks, t);
  load_b<T>(tile, ks, t);
  multiply_tile({.m = tile.rows.size(),
                 .n = tile.c_stride(),
                 .k = in_panels(ks.size()),
                 .a = t.a.data,
                 .a_stride = kPanel,
                 .a_panel = t.a.panel(),
                 .b = t.b.data,
                 .b_panel = t.b.panel(),
                 .c = t.c,
                 .c_stride = tile.c_stride(),
                 .accumulate = Accumulate::kAdd});
}

// The same by oneDNN, on the operands where they are.
void multiply_natively(const Tile& tile, Range ks, const Tiles& t, NativeProducts& natives) {
  const Matmul& op = tile.op;
  const bool a_stored = op.a_layout == Layout::kAsStored;
  const bool b_stored = op.b_layout == Layout::kAsStored;
  natives.multiply({.m = tile.rows.size(),
                    .n = tile.cols.size(),
                    .k = ks.size(),
                    .a = a_stored ? window<Bf16>(op.a, tile.rows, ks).data
                                  : window<Bf16>(op.a, ks, tile.rows).data,
                    .lda = op.a.cols,
                    .a_layout = op.a_layout,
                    .b = b_stored ? window<Bf16>(op.b, ks, tile.cols).data
                                  : window<Bf16>(op.b, tile.cols, ks).data,
                    .ldb = op.b.cols,
                    .b_layout = op.b_layout,
                    .c = t.c,
                    .ldc = tile.c_stride(),
                    .accumulate = Accumulate::kAdd},
                   std::as_writable_bytes(t.rest));
}

void begin_tile(const Tile& tile, const Tiles& t) {
  std::fill_n(t.c, tile.rows.size() * tile.c_stride(), 0.0F);
  if (tile.op.accumulate == Accumulate::kOverwrite) return;
  const Window<float> out = window<float>(tile.op.out, tile.rows, tile.cols);
  for (std::int64_t r = 0; r < out.rows; ++r) {
    std::copy_n(out.data + r * out.stride, out.cols, t.c + r * tile.c_stride());
  }
}

// out = c [+ bias] [+ residual].
template <typename T, typename Out>
void end_tile(const Tile& tile, const Tiles& t) {
  const std::int64_t n = tile.op.out.cols;
  const T* bias = data<T>(tile.op.bias);
  const bool has_residual = tile.op.residual.data != nullptr;
  for (std::int64_t r = tile.rows.begin; r < tile.rows.end; ++r) {
    const float* c = t.c + (r - tile.rows.begin) * tile.c_stride() - tile.cols.begin;
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

template <typename T>
void multiply_depths(const Tile& tile, std::int64_t depth, const Tiles& t,
                     NativeProducts* natives) {
  const bool native = natives != nullptr && sizeof(T) == sizeof(Bf16);
  const std::int64_t block = native ? kTokenBlock : kDepth;
  for (std::int64_t i = 0; i < block_count(depth, block); ++i) {
    const Range ks = block_range(i, block, depth);
    native ? multiply_natively(tile, ks, t, *natives) : multiply_depth<T>(tile, ks, t);
  }
}

template <typename T>
void run_tile(const Tile& tile, std::int64_t depth, std::span<float> scratch,
              NativeProducts* natives) {
  Parts parts(scratch);
  const Tiles t(parts);
  begin_tile(tile, t);
  multiply_depths<T>(tile, depth, t, natives);
  if (tile.op.out.dtype == DType::kF32) return end_tile<T, float>(tile, t);
  end_tile<T, Bf16>(tile, t);
}

// Neighbours share their part of the operand with more lines, which then comes from memory once.
Tile tile_at(const Matmul& op, const Sizes& s, const TileShape& shape, std::int64_t index) {
  const std::int64_t down = block_count(s.m, shape.rows);
  const std::int64_t across = block_count(s.n, shape.cols);
  const std::int64_t row = s.n > s.m ? index % down : index / across;
  const std::int64_t col = s.n > s.m ? index / down : index % across;
  return {op, block_range(row, shape.rows, s.m), block_range(col, shape.cols, s.n)};
}

}  // namespace

void run(const Matmul& op, Team& team, NativeProducts* native_bf16) {
  const Sizes s = checked_sizes(op);
  const TileShape shape = tile_shape(s);
  with_element(op.a.dtype, [&](auto element) {
    team.for_each_block(shape.count(s), [&](std::int64_t i, int member) {
      run_tile<decltype(element)>(tile_at(op, s, shape, i), s.k, team.scratch<float>(member),
                                  native_bf16);
    });
  });
}

}  // namespace ebbtide::kernels::cpu
