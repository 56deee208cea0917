#include "src/model/collectives.hpp"

#include <fmt/format.h>

#include <cstring>

#include "ebbtide/error.hpp"

namespace ebbtide::model {

std::int64_t CollectiveArgs::group_size() const {
  const RankShape& ranks = collective.ranks;
  return collective.group == RankGroup::kAll ? ranks.count() : ranks.sequence_parallel;
}

std::int64_t CollectiveArgs::group_rank() const {
  const RankShape& ranks = collective.ranks;
  return collective.group == RankGroup::kAll ? ranks.rank : ranks.sequence_rank();
}

Share CollectiveArgs::slice(std::int64_t member) const {
  return share(collective.tokens, group_size(), member);
}

Share CollectiveArgs::heads_of(const CollectiveTensor& tensor, std::int64_t member) const {
  const HeadShare heads = head_share(collective.heads, collective.kv_heads, group_size(), member);
  return tensor.heads == HeadKind::kQuery ? heads.q : heads.kv;
}

std::uint64_t CollectiveArgs::exchanged_bytes(const CollectiveTensor& t, std::int64_t from,
                                              std::int64_t to) const {
  const bool to_heads = collective.kind == CollectiveKind::kTokensToHeads;
  const std::int64_t tokens = slice(to_heads ? from : to).count;
  const std::int64_t heads = heads_of(t, to_heads ? to : from).count;
  return static_cast<std::uint64_t>(tokens * heads * t.elements) * dtype_bytes(t.dtype);
}

std::uint64_t CollectiveArgs::bytes_between(std::int64_t from, std::int64_t to) const {
  std::uint64_t bytes = 0;
  for (const CollectiveTensor& t : tensors) {
    const std::uint64_t shard =
        static_cast<std::uint64_t>(shard_elements(t.elements, collective.ranks)) *
        dtype_bytes(t.dtype);
    switch (collective.kind) {
      case CollectiveKind::kAllGather:
      case CollectiveKind::kReduceScatter:
        bytes += shard;
        break;
      case CollectiveKind::kAllReduce:  // a reduce-scatter, then an all-gather
        bytes += 2 * shard;
        break;
      case CollectiveKind::kTokensToHeads:
      case CollectiveKind::kHeadsToTokens:
        bytes += exchanged_bytes(t, from, to);
        break;
    }
  }
  return bytes;
}

std::uint64_t CollectiveArgs::bytes_to(std::int64_t member) const {
  return bytes_between(group_rank(), member);
}

std::uint64_t CollectiveArgs::sent_bytes() const {
  std::uint64_t bytes = 0;
  for (std::int64_t peer = 0; peer < group_size(); ++peer)
    if (peer != group_rank()) bytes += bytes_between(group_rank(), peer);
  return bytes;
}

std::uint64_t CollectiveArgs::received_bytes() const {
  std::uint64_t bytes = 0;
  for (std::int64_t peer = 0; peer < group_size(); ++peer)
    if (peer != group_rank()) bytes += bytes_between(peer, group_rank());
  return bytes;
}

namespace {

template <typename T>
void append(std::vector<std::byte>& to, const T& item) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&item);
  to.insert(to.end(), bytes, bytes + sizeof(T));
}

}  // namespace

std::vector<std::byte> pack(const CollectiveArgs& args) {
  std::vector<std::byte> bytes;
  Collective header = args.collective;
  header.tensors = static_cast<std::uint32_t>(args.tensors.size());
  append(bytes, header);
  for (const CollectiveTensor& tensor : args.tensors) append(bytes, tensor);
  return bytes;
}

CollectiveArgs unpack(std::span<const std::byte> bytes) {
  CollectiveArgs args;
  EBBTIDE_CHECK(bytes.size() >= sizeof(Collective), fmt::format("{} bytes", bytes.size()));
  std::memcpy(&args.collective, bytes.data(), sizeof(Collective));
  args.tensors.resize(args.collective.tensors);
  // a program aligns the arguments of the op after it
  EBBTIDE_CHECK(bytes.size() >= sizeof(Collective) + args.tensors.size() * sizeof(CollectiveTensor),
                fmt::format("{} bytes for {} tensors", bytes.size(), args.tensors.size()));
  if (!args.tensors.empty())
    std::memcpy(args.tensors.data(), bytes.data() + sizeof(Collective),
                args.tensors.size() * sizeof(CollectiveTensor));
  return args;
}

}  // namespace ebbtide::model
