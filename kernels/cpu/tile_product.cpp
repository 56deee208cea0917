#include "kernels/cpu/tile_product.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace ebbtide::kernels::cpu {
namespace {

constexpr std::int64_t kLanes = kPanel / 2;
// kMicroRows * 2 sums, two vectors of b and one of a fit the 16 or 32 vector registers.
constexpr std::int64_t kMicroRows = kPanel == 32 ? 12 : 6;

using Vector = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));
using Quad = float __attribute__((vector_size(16), aligned(4), may_alias));

Vector& vector_at(float* at) {
  return *reinterpret_cast<Vector*>(at);
}
const Vector& vector_at(const float* at) {
  return *reinterpret_cast<const Vector*>(at);
}

template <std::int64_t kRows>
struct Sums {
  Vector low[kRows] = {};
  Vector high[kRows] = {};

  // `a` holds one element a row, `a_step` apart.
  [[gnu::always_inline]] void add(const float* a, std::int64_t a_step, const float* b) {
    const Vector b_low = vector_at(b);
    const Vector b_high = vector_at(b + kLanes);
#pragma GCC unroll 12
    for (std::int64_t r = 0; r < kRows; ++r) {
      const float x = a[r * a_step];
      low[r] += x * b_low;
      high[r] += x * b_high;
    }
  }

  [[gnu::always_inline]] void store(float* c, std::int64_t stride, Accumulate accumulate) {
    if (accumulate == Accumulate::kAdd) {
#pragma GCC unroll 12
      for (std::int64_t r = 0; r < kRows; ++r) {
        low[r] += vector_at(c + r * stride);
        high[r] += vector_at(c + r * stride + kLanes);
      }
    }
#pragma GCC unroll 12
    for (std::int64_t r = 0; r < kRows; ++r) {
      vector_at(c + r * stride) = low[r];
      vector_at(c + r * stride + kLanes) = high[r];
    }
  }
};

// Rows [0, kRows) of a against one panel of b.
template <std::int64_t kRows>
void multiply_rows(const TileProduct& p, const float* a, const float* b, float* c) {
  Sums<kRows> sums;
  for (std::int64_t k = 0; k < p.k; k += kPanel, a += p.a_panel) {
    for (std::int64_t i = 0; i < kPanel; ++i) {
      sums.add(a + i, p.a_stride, b);
      b += kPanel;
    }
  }
  sums.store(c, p.c_stride, p.accumulate);
}

template <std::int64_t kRows>
void multiply_columns(const TileProduct& p, const float* a, const float* b, float* c) {
  Sums<kRows> sums;
  for (std::int64_t k = 0; k < p.k; ++k, a += p.a_stride, b += kPanel) sums.add(a, 1, b);
  sums.store(c, p.c_stride, p.accumulate);
}

using Micro = void (*)(const TileProduct&, const float*, const float*, float*);
using MicroTable = std::array<Micro, kMicroRows>;  // by rows, less one

template <std::size_t... kIndex>
constexpr MicroTable row_kernels(std::index_sequence<kIndex...>) {
  return {&multiply_rows<static_cast<std::int64_t>(kIndex) + 1>...};
}
template <std::size_t... kIndex>
constexpr MicroTable column_kernels(std::index_sequence<kIndex...>) {
  return {&multiply_columns<static_cast<std::int64_t>(kIndex) + 1>...};
}
constexpr auto kSizes = std::make_index_sequence<static_cast<std::size_t>(kMicroRows)>();
constexpr MicroTable kRowKernels = row_kernels(kSizes);
constexpr MicroTable kColumnKernels = column_kernels(kSizes);

// to (4, 4) = the transpose of from (4, 4); both have rows of kPanel.
[[gnu::always_inline]] inline void transpose_quads(const float* from, float* to) {
  const auto row = [from](std::int64_t r) {
    return *reinterpret_cast<const Quad*>(from + r * kPanel);
  };
  const Quad low01 = __builtin_shufflevector(row(0), row(1), 0, 4, 1, 5);
  const Quad low23 = __builtin_shufflevector(row(2), row(3), 0, 4, 1, 5);
  const Quad high01 = __builtin_shufflevector(row(0), row(1), 2, 6, 3, 7);
  const Quad high23 = __builtin_shufflevector(row(2), row(3), 2, 6, 3, 7);
  const auto store = [to](std::int64_t r, Quad x) {
    *reinterpret_cast<Quad*>(to + r * kPanel) = x;
  };
  store(0, __builtin_shufflevector(low01, low23, 0, 1, 4, 5));
  store(1, __builtin_shufflevector(low01, low23, 2, 3, 6, 7));
  store(2, __builtin_shufflevector(high01, high23, 0, 1, 4, 5));
  store(3, __builtin_shufflevector(high01, high23, 2, 3, 6, 7));
}

}  // namespace

// A panel of b stays in the first-level cache while the rows of a go by.
void multiply_tile(const TileProduct& p) {
  const bool in_rows = p.a_order == TileProduct::Order::kRows;
  const MicroTable& kernels = in_rows ? kRowKernels : kColumnKernels;
  const std::int64_t a_step = in_rows ? p.a_stride : 1;
  for (std::int64_t n = 0; n < p.n; n += kPanel) {
    const float* b = p.b + n / kPanel * p.b_panel;
    for (std::int64_t m = 0; m < p.m; m += kMicroRows) {
      const std::int64_t rows = std::min(kMicroRows, p.m - m);
      kernels[static_cast<std::size_t>(rows - 1)](p, p.a + m * a_step, b, p.c + m * p.c_stride + n);
    }
  }
}

void transpose_panels(const float* from, std::int64_t from_panel, std::int64_t rows,
                      std::int64_t cols, float* to, std::int64_t to_panel) {
  for (std::int64_t r = 0; r < rows; r += 4) {
    for (std::int64_t c = 0; c < cols; c += 4) {
      transpose_quads(from + c / kPanel * from_panel + r * kPanel + c % kPanel,
                      to + r / kPanel * to_panel + c * kPanel + r % kPanel);
    }
  }
}

}  // namespace ebbtide::kernels::cpu
