// What the forward and backward of chunk-pair attention share: tiles of heads as floats, and the
// causal mask.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "kernels/cpu/element.hpp"

namespace ebbtide::kernels::cpu {

inline constexpr std::int64_t kQueryTile = 128;  // rows of queries
inline constexpr std::int64_t kKeyTile = 256;    // rows of keys
inline constexpr std::int64_t kMaxHeadDim = 256;

// Heads of one tensor: (rows, heads * D), head h in columns [h D, (h + 1) D).
struct HeadSizes {
  std::int64_t queries;   // C
  std::int64_t keys;      // Ck
  std::int64_t heads;     // Q
  std::int64_t kv_heads;  // G
  std::int64_t dim;       // D

  std::int64_t group() const { return heads / kv_heads; }
};

inline HeadSizes head_sizes(const ConstTensor& q, const ConstTensor& k, std::int64_t dim) {
  EBBTIDE_CHECK(dim > 0 && dim <= kMaxHeadDim, "head dimension " + std::to_string(dim));
  EBBTIDE_CHECK(q.cols > 0 && q.cols % dim == 0, describe(q));
  EBBTIDE_CHECK(k.cols > 0 && q.cols % k.cols == 0 && k.cols % dim == 0, describe(k));
  EBBTIDE_CHECK(k.rows > 0, describe(k));
  return {q.rows, k.rows, q.cols / dim, k.cols / dim, dim};
}

// to (rows, D) = scale * rows [rows] of head `head` of t.
template <typename T>
void load_tile(const ConstTensor& t, Range rows, std::int64_t head, std::int64_t dim, float scale,
               float* to) {
  const T* from = data<T>(t) + rows.begin * t.cols + head * dim;
  for (std::int64_t r = 0; r < rows.size(); ++r) {
#pragma omp simd
    for (std::int64_t i = 0; i < dim; ++i) to[r * dim + i] = to_float(from[r * t.cols + i]) * scale;
  }
}

// Keys of the tile that query row `query` may see, as a count from the tile's first.
inline std::int64_t visible_keys(Causality causality, std::int64_t query, Range keys) {
  if (causality == Causality::kFull) return keys.size();
  return std::clamp<std::int64_t>(query + 1 - keys.begin, 0, keys.size());
}

}  // namespace ebbtide::kernels::cpu
