// What the forward and backward of chunk-pair attention share: sizes, tiles of heads in panels,
// the causal mask.
//
// Scores are held transposed, (keys, queries): what belongs to a query (maximum, sum, lse, delta)
// is then a vector along the rows, and no product needs a transposed key or value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "kernels/cpu/element.hpp"
#include "kernels/cpu/panels.hpp"

namespace ebbtide::kernels::cpu {

inline constexpr std::int64_t kMaxHeadDim = 256;

// Heads of one tensor: (rows, heads * D), head h in columns [h D, (h + 1) D).
struct HeadSizes {
  std::int64_t queries;   // C
  std::int64_t keys;      // Ck
  std::int64_t heads;     // Q
  std::int64_t kv_heads;  // G
  std::int64_t dim;       // D
  KvGroup group;

  std::int64_t kv_head(std::int64_t head) const { return (group.first + head) / group.size; }
  // The query heads that read a KV head.
  Range query_heads(std::int64_t kv) const {
    return {std::max<std::int64_t>(kv * group.size - group.first, 0),
            std::min((kv + 1) * group.size - group.first, heads)};
  }
  std::int64_t padded_dim() const { return in_panels(dim); }
};

inline HeadSizes head_sizes(const ConstTensor& q, const ConstTensor& k, std::int64_t dim,
                            const KvGroup& group) {
  EBBTIDE_CHECK(dim > 0 && dim <= kMaxHeadDim, "head dimension " + std::to_string(dim));
  EBBTIDE_CHECK(q.cols > 0 && q.cols % dim == 0, describe(q));
  EBBTIDE_CHECK(k.cols > 0 && k.cols % dim == 0, describe(k));
  EBBTIDE_CHECK(k.rows > 0, describe(k));
  HeadSizes sizes{q.rows, k.rows, q.cols / dim, k.cols / dim, dim, group};
  if (group.size == 0) {
    EBBTIDE_CHECK(q.cols % k.cols == 0, describe(q) + " on " + describe(k));
    sizes.group = {sizes.heads / sizes.kv_heads, 0};
  }
  EBBTIDE_CHECK(
      sizes.group.first < sizes.group.size && sizes.kv_head(sizes.heads - 1) == sizes.kv_heads - 1,
      describe(q) + " on " + describe(k));
  return sizes;
}

// to = scale * rows [rows] of head `head` of t.
template <typename T>
void load_tile(const ConstTensor& t, Range rows, std::int64_t head, std::int64_t dim, float scale,
               const Panels& to) {
  const T* from = data<T>(t) + rows.begin * t.cols + head * dim;
  load_panels(Window<T>{from, rows.size(), dim, t.cols}, scale, to);
}

// Column `head` of a (rows, heads) tensor; zeros up to the next multiple of kPanel.
inline void load_column(const ConstTensor& t, Range rows, std::int64_t head, float* to) {
  const float* from = data<float>(t) + rows.begin * t.cols + head;
  for (std::int64_t r = 0; r < rows.size(); ++r) to[r] = from[r * t.cols];
  std::fill(to + rows.size(), to + in_panels(rows.size()), 0.0F);
}

// The keys of a tile that some query of the tile may see.
inline Range visible_keys(Causality causality, Range queries, Range keys) {
  if (causality == Causality::kFull) return keys;
  return {keys.begin, std::clamp(queries.end, keys.begin, keys.end)};
}

// How many of the tile's queries, from the first, may not see `key`.
inline std::int64_t hidden_queries(Causality causality, Range queries, std::int64_t key) {
  if (causality == Causality::kFull) return 0;
  return std::clamp<std::int64_t>(key - queries.begin, 0, queries.size());
}

}  // namespace ebbtide::kernels::cpu
