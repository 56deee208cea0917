// How a step is dealt to N = S D ranks.
//
// S ranks share a sequence: each owns one slice of the tokens of every chunk, so that causal work
// is even, and one range of heads inside attention (Ulysses, Jacobs 2023). D such groups have their
// own sequences. Parameters, gradients and optimizer state are cut into N shards (ZeRO-3).
#pragma once

#include <algorithm>
#include <cstdint>

namespace ebbtide::model {

struct RankShape {
  std::int64_t sequence_parallel = 1;  // S
  std::int64_t data_parallel = 1;      // D
  std::int64_t rank = 0;               // in [0, N); ranks of one sequence are neighbours

  constexpr std::int64_t count() const { return sequence_parallel * data_parallel; }
  constexpr bool many() const { return count() > 1; }
  constexpr std::int64_t sequence_rank() const { return rank % sequence_parallel; }

  bool operator==(const RankShape&) const = default;
};

// As many ranks a sequence as divide `count` and have a query head each; the others take sequences
// of their own.
constexpr RankShape deal_ranks(std::int64_t count, std::int64_t heads) {
  std::int64_t sequence_parallel = std::min(count, heads);
  while (count % sequence_parallel != 0) --sequence_parallel;
  return {.sequence_parallel = sequence_parallel, .data_parallel = count / sequence_parallel};
}

struct Share {
  std::int64_t begin = 0;
  std::int64_t count = 0;

  constexpr std::int64_t end() const { return begin + count; }
};

// Share `i` of `total` things dealt in order to `parts`: sizes differ by at most one, the first are
// the larger. So rank 0 has most work.
constexpr Share share(std::int64_t total, std::int64_t parts, std::int64_t i) {
  const std::int64_t least = total / parts;
  const std::int64_t larger = total % parts;
  return {i * least + std::min(i, larger), least + (i < larger ? 1 : 0)};
}

// The query heads of a rank, and the KV heads that these read: some are on several ranks.
struct HeadShare {
  Share q;
  Share kv;
};
constexpr HeadShare head_share(std::int64_t heads, std::int64_t kv_heads, std::int64_t parts,
                               std::int64_t i) {
  const std::int64_t group = heads / kv_heads;
  const Share q = share(heads, parts, i);
  const std::int64_t first = q.begin / group;
  return {q, {first, (q.end() - 1) / group - first + 1}};
}

// Elements of each of N equal shards of a parameter. The last ones reach past its end: what is
// there is padding, zero in gradients and optimizer state.
constexpr std::int64_t shard_elements(std::int64_t elements, const RankShape& ranks) {
  return (elements + ranks.count() - 1) / ranks.count();
}

}  // namespace ebbtide::model
