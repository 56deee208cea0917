// Products of tiles that fit the second-level cache, by a micro-kernel that holds a block of the
// result in registers. For attention, whose tiles come and go too fast to be packed by a library
// each time; sizes are those of tiles, so nothing is cut for the caches.
//
// A matrix in panels has its columns in groups of kPanel: element (r, c) is at
// [c / kPanel][r][c % kPanel], missing columns are zero.
//
// Deterministic: an element of the result is one chain of fused multiply-adds over k.
#pragma once

#include <cstdint>

#include "kernels/kernels.hpp"

namespace ebbtide::kernels::cpu {

// Two vectors of the instruction set that is compiled for.
#if defined(__AVX512F__)
inline constexpr std::int64_t kPanel = 32;
#elif defined(__AVX__)
inline constexpr std::int64_t kPanel = 16;
#else
inline constexpr std::int64_t kPanel = 8;
#endif

constexpr std::int64_t round_up(std::int64_t count, std::int64_t to) {
  return (count + to - 1) / to * to;
}
constexpr std::int64_t in_panels(std::int64_t count) {
  return round_up(count, kPanel);
}

// c (m, n) = a (m, k) . b (k, n), or c += ...
struct TileProduct {
  std::int64_t m = 0;
  std::int64_t n = 0;  // a multiple of kPanel
  std::int64_t k = 0;  // a multiple of kPanel where a is in rows
  // kRows: element (r, i) at r * a_stride + i / kPanel * a_panel + i % kPanel, which is a matrix
  // in panels or, with a_panel kPanel, a plain one. kColumns: at i * a_stride + r.
  enum class Order : std::uint8_t { kRows, kColumns } a_order = Order::kRows;
  const float* a = nullptr;
  std::int64_t a_stride = 0;
  std::int64_t a_panel = kPanel;
  const float* b = nullptr;  // in panels
  std::int64_t b_panel = 0;  // elements from one panel to the next
  float* c = nullptr;        // row-major
  std::int64_t c_stride = 0;
  Accumulate accumulate = Accumulate::kOverwrite;
};
void multiply_tile(const TileProduct& product);

// The transpose of `rows` (a multiple of kPanel) rows in panels, itself in panels:
// to[r / kPanel][c][r % kPanel] = from[c / kPanel][r][c % kPanel].
void transpose_panels(const float* from, std::int64_t from_panel, std::int64_t rows,
                      std::int64_t cols, float* to, std::int64_t to_panel);

}  // namespace ebbtide::kernels::cpu
