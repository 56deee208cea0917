// Loads matrices as floats in panels (see tile_product.hpp); bf16 is widened on the way.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/element.hpp"
#include "kernels/cpu/tile_product.hpp"

namespace ebbtide::kernels::cpu {

// A matrix in panels with room for `capacity` rows.
struct Panels {
  float* data = nullptr;
  std::int64_t capacity = 0;

  std::int64_t panel() const { return capacity * kPanel; }  // elements from panel to panel
};

// A row-major matrix somewhere in memory.
template <typename T>
struct Window {
  const T* data;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t stride;
};

// to = `count` (at most kPanel) scaled elements, then zeros up to kPanel.
template <typename T>
void load_piece(const T* from, std::int64_t count, float scale, float* to) {
  if (count < kPanel) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = to_float(from[i]) * scale;
    std::fill(to + count, to + kPanel, 0.0F);
    return;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < kPanel; ++i) to[i] = to_float(from[i]) * scale;
}

// to = scale * from; rows up to the next multiple of kPanel, as far as there is room, are zero.
template <typename T>
void load_panels(const Window<T>& from, float scale, const Panels& to) {
  const std::int64_t padded = std::min(in_panels(from.rows), to.capacity);
  for (std::int64_t r = 0; r < from.rows; ++r) {
    const T* row = from.data + r * from.stride;
    float* piece = to.data + r * kPanel;
    for (std::int64_t c = 0; c < from.cols; c += kPanel, piece += to.panel()) {
      load_piece(row + c, std::min(kPanel, from.cols - c), scale, piece);
    }
  }
  for (std::int64_t c = 0; c < from.cols; c += kPanel) {
    float* panel = to.data + c / kPanel * to.panel();
    std::fill(panel + from.rows * kPanel, panel + padded * kPanel, 0.0F);
  }
}

}  // namespace ebbtide::kernels::cpu
