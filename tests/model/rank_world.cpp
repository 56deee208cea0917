#include "tests/model/rank_world.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <thread>

namespace ebbtide::testing {

using model::CollectiveArgs;
using model::CollectiveKind;
using model::CollectiveTensor;
using model::RankGroup;
using model::Share;

struct RankWorld::Meeting {
  const RankWorld& world;
  const CollectiveArgs& args;
  std::span<std::byte* const> own;

  std::size_t tensors() const { return args.tensors.size(); }
  // The operand of a member of the group.
  template <typename T>
  T* of(std::int64_t member, std::size_t i) const {
    const model::RankShape& ranks = args.collective.ranks;
    const std::int64_t first = args.collective.group == RankGroup::kAll
                                   ? 0
                                   : ranks.rank / ranks.sequence_parallel * ranks.sequence_parallel;
    return reinterpret_cast<T*>(world.operand(first + member, i));
  }

  void all_gather() const {
    for (std::size_t t = 0; t < tensors(); ++t) {
      const auto bytes = static_cast<std::size_t>(
                             shard_elements(args.tensors[t].elements, args.collective.ranks)) *
                         dtype_bytes(args.tensors[t].dtype);
      for (std::int64_t r = 0; r < args.group_size(); ++r)
        std::memcpy(own[tensors() + t] + static_cast<std::size_t>(r) * bytes, of<std::byte>(r, t),
                    bytes);
    }
  }

  void reduce_scatter() const {
    for (std::size_t t = 0; t < tensors(); ++t) {
      const std::int64_t shard = shard_elements(args.tensors[t].elements, args.collective.ranks);
      auto* to = reinterpret_cast<float*>(own[tensors() + t]);
      if (args.collective.start == model::ShardStart::kZero) std::fill_n(to, shard, 0.0F);
      const std::int64_t begin = args.group_rank() * shard;
      const std::int64_t count = std::min(shard, args.tensors[t].elements - begin);
      for (std::int64_t r = 0; r < args.group_size(); ++r)
        for (std::int64_t i = 0; i < count; ++i) to[i] += of<const float>(r, t)[begin + i];
    }
  }

  // In a buffer, since the others read the operands.
  template <typename T>
  std::vector<double> all_reduced(std::size_t t) const {
    std::vector<double> sums(static_cast<std::size_t>(args.tensors[t].elements), 0.0);
    for (std::int64_t r = 0; r < args.group_size(); ++r)
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += of<const T>(r, t)[i];
    return sums;
  }

  void to_heads(std::size_t t) const {
    const CollectiveTensor& tensor = args.tensors[t];
    const auto width = static_cast<std::int64_t>(dtype_bytes(tensor.dtype)) * tensor.elements;
    const std::int64_t all =
        tensor.heads == model::HeadKind::kQuery ? args.collective.heads : args.collective.kv_heads;
    const Share heads = args.heads_of(tensor, args.group_rank());
    std::byte* to = own[tensors() + t];
    for (std::int64_t r = 0; r < args.group_size(); ++r)
      for (std::int64_t row = 0; row < args.slice(r).count; ++row, to += heads.count * width)
        std::memcpy(to, of<std::byte>(r, t) + (row * all + heads.begin) * width,
                    static_cast<std::size_t>(heads.count * width));
  }

  template <typename T>
  void to_tokens(std::size_t t) const {
    const CollectiveTensor& tensor = args.tensors[t];
    const std::int64_t all =
        tensor.heads == model::HeadKind::kQuery ? args.collective.heads : args.collective.kv_heads;
    const Share slice = args.slice(args.group_rank());
    auto* to = reinterpret_cast<T*>(own[tensors() + t]);
    std::fill_n(to, slice.count * all * tensor.elements, T{});
    for (std::int64_t r = 0; r < args.group_size(); ++r) {
      const Share heads = args.heads_of(tensor, r);
      const std::int64_t row_elements = heads.count * tensor.elements;
      for (std::int64_t row = 0; row < slice.count; ++row) {
        const T* from = of<const T>(r, t) + (slice.begin + row) * row_elements;
        T* into = to + (row * all + heads.begin) * tensor.elements;
        for (std::int64_t i = 0; i < row_elements; ++i) into[i] += from[i];
      }
    }
  }

  void to_tokens_of_type(std::size_t t) const {
    // 16-bit tensors have no replicas: each number is added to zero bits once
    args.tensors[t].dtype == DType::kF32 ? to_tokens<float>(t) : to_tokens<std::uint16_t>(t);
  }
};

OpFunction RankWorld::collectives_of(std::int64_t rank) {
  return [this, rank](const OpContext& context) { meet(rank, context); };
}

void RankWorld::wait_for_all() {
  barrier_.arrive_and_wait();
  if (failed_) throw std::runtime_error("another rank has failed");
}

void RankWorld::meet(std::int64_t rank, const OpContext& context) {
  const CollectiveArgs args = model::unpack(context.args);
  operands_[static_cast<std::size_t>(rank)].assign(context.operands.begin(),
                                                   context.operands.end());
  wait_for_all();
  const Meeting meeting{*this, args, context.operands};
  std::vector<std::vector<double>> sums;
  switch (args.collective.kind) {
    case CollectiveKind::kAllGather:
      meeting.all_gather();
      break;
    case CollectiveKind::kReduceScatter:
      meeting.reduce_scatter();
      break;
    case CollectiveKind::kTokensToHeads:
      for (std::size_t t = 0; t < args.tensors.size(); ++t) meeting.to_heads(t);
      break;
    case CollectiveKind::kHeadsToTokens:
      for (std::size_t t = 0; t < args.tensors.size(); ++t) meeting.to_tokens_of_type(t);
      break;
    case CollectiveKind::kAllReduce:
      for (std::size_t t = 0; t < args.tensors.size(); ++t)
        sums.push_back(meeting.all_reduced<double>(t));
      break;
  }
  wait_for_all();
  for (std::size_t t = 0; t < sums.size(); ++t)
    std::memcpy(context.operands[t], sums[t].data(), sums[t].size() * sizeof(double));
}

void RankWorld::run(const std::function<void(std::int64_t)>& run) {
  std::vector<std::exception_ptr> failures(operands_.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < operands_.size(); ++r)
    threads.emplace_back([&, r] {
      try {
        run(static_cast<std::int64_t>(r));
      } catch (...) {
        failures[r] = std::current_exception();
        failed_ = true;
        barrier_.arrive_and_drop();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace ebbtide::testing
