// The arguments of a step's collectives: all that a comm layer needs besides the operands.
//
// An op's arguments are a Collective followed by one CollectiveTensor a tensor; its operands are
//   all-gather:     shards (read), wholes (written): N padded shards in rank order
//   reduce-scatter: wholes (updated: scratch, their last use), shards (written or added to)
//   all-to-all:     own parts (read), parts after it (written), staging for what goes and comes
//   all-reduce:     tensors (updated)
// Sums are in the order of ranks. A reduce-scatter counts padding as zero and leaves zeros in it.
//
// An all-to-all turns token slices of all heads into all tokens of the rank's heads, or back.
// Tensors are (tokens, heads * width). To heads, a KV head goes to every rank that needs it; on the
// way back the parts of its replicas are added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ebbtide/types.hpp"
#include "src/model/ranks.hpp"

namespace ebbtide::model {

enum class CollectiveKind : std::uint8_t {
  kAllGather,
  kReduceScatter,
  kTokensToHeads,  // all-to-all
  kHeadsToTokens,  // all-to-all
  kAllReduce,
};
enum class RankGroup : std::uint8_t {
  kSequence,  // the S ranks of this rank's sequence
  kAll,       // all N
};
enum class ShardStart : std::uint8_t { kZero, kAdd };  // of a reduce-scatter's shards
enum class HeadKind : std::uint8_t { kQuery, kKeyValue };

struct Collective {
  CollectiveKind kind = CollectiveKind::kAllGather;
  RankGroup group = RankGroup::kAll;
  ShardStart start = ShardStart::kZero;
  std::uint32_t tensors = 0;
  RankShape ranks;
  // Of an all-to-all:
  std::int64_t tokens = 0;    // of the chunk, over all slices
  std::int64_t heads = 0;     // Q
  std::int64_t kv_heads = 0;  // G
};

struct CollectiveTensor {
  DType dtype = DType::kF32;
  HeadKind heads = HeadKind::kQuery;  // of an all-to-all
  // All-to-all: of one token and head. Else of the whole tensor, padding left out.
  std::int64_t elements = 0;
};

// The arguments of one op, read back.
struct CollectiveArgs {
  Collective collective;
  std::vector<CollectiveTensor> tensors;

  std::int64_t group_size() const;
  std::int64_t group_rank() const;  // this rank's place in the group
  Share slice(std::int64_t member) const;
  // The heads of a tensor that a member has between the two all-to-alls.
  Share heads_of(const CollectiveTensor& tensor, std::int64_t member) const;
  // Bytes that this rank sends to another member of the group, by the direct algorithm.
  std::uint64_t bytes_to(std::int64_t member) const;
  std::uint64_t sent_bytes() const;
  std::uint64_t received_bytes() const;

 private:
  std::uint64_t bytes_between(std::int64_t from, std::int64_t to) const;
  std::uint64_t exchanged_bytes(const CollectiveTensor& t, std::int64_t from,
                                std::int64_t to) const;
};

std::vector<std::byte> pack(const CollectiveArgs& args);
// Requires what pack() made.
CollectiveArgs unpack(std::span<const std::byte> bytes);

}  // namespace ebbtide::model
