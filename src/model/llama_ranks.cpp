#include "src/model/llama_ranks.hpp"

#include <array>

namespace ebbtide::model {
namespace {

Collective header(const Step& step, CollectiveKind kind, RankGroup group) {
  Collective made;
  made.kind = kind;
  made.group = group;
  made.ranks = step.dims.ranks;
  made.heads = step.dims.heads;
  made.kv_heads = step.dims.kv_heads;
  return made;
}

}  // namespace

void gather(Step& step, std::span<const std::size_t> parameters) {
  CollectiveArgs args{header(step, CollectiveKind::kAllGather, RankGroup::kAll), {}};
  std::vector<Use> uses;
  for (const std::size_t p : parameters) {
    args.tensors.push_back({step.dims.dtype, HeadKind::kQuery, step.values.elements(p)});
    uses.push_back(read(step.values.parameter(p, State::kWeight)));
    step.gathered[p] = step.values.whole(p, State::kWeight);
  }
  for (const std::size_t p : parameters) uses.push_back(write(*step.gathered[p]));
  step.ops.collective(uses, args);
}

void gather_embedding(Step& step) {
  const std::array embedding{step.params.embedding()};
  gather(step, embedding);
}

void gather_layer(Step& step, std::int64_t layer) {
  if (layer == step.dims.layers) {
    const std::array last{step.params.final_norm(), step.params.head()};
    return gather(step, last);
  }
  std::vector<std::size_t> parameters;
  for (std::size_t p = 0; p < step.params.per_layer(); ++p)
    parameters.push_back(step.params.first_of(layer) + p);
  gather(step, parameters);
}

void reduce_scatter(Step& step, std::span<const Reduced> reduced, ShardStart start) {
  CollectiveArgs args{header(step, CollectiveKind::kReduceScatter, RankGroup::kAll), {}};
  args.collective.start = start;
  const Access access = start == ShardStart::kZero ? Access::kWrite : Access::kUpdate;
  std::vector<Use> uses;
  for (const Reduced& it : reduced) {
    args.tensors.push_back({DType::kF32, HeadKind::kQuery, step.values.elements(it.parameter)});
    uses.push_back(update(it.whole));
  }
  for (const Reduced& it : reduced)
    uses.push_back(make_use(step.values.parameter(it.parameter, State::kGradient), access));
  step.ops.collective(uses, args);
}

void all_reduce(Step& step, std::span<const ValueId> values) {
  CollectiveArgs args{header(step, CollectiveKind::kAllReduce, RankGroup::kAll), {}};
  std::vector<Use> uses;
  for (const ValueId value : values) {
    const Value& it = step.program.value(value);
    const auto elements = static_cast<std::int64_t>(it.size_bytes / dtype_bytes(it.dtype));
    args.tensors.push_back({it.dtype, HeadKind::kQuery, elements});
    uses.push_back(update(value));
  }
  step.ops.collective(uses, args);
}

void exchange(Step& step, CollectiveKind direction, std::int64_t c,
              std::span<const Exchanged> tensors) {
  CollectiveArgs args{header(step, direction, RankGroup::kSequence), {}};
  args.collective.tokens = step.dims.chunk_rows(c);
  std::vector<Use> uses;
  for (const Exchanged& it : tensors) {
    args.tensors.push_back({step.program.value(it.from).dtype, it.heads, it.width});
    uses.push_back(read(it.from));
  }
  for (const Exchanged& it : tensors) uses.push_back(write(it.to));
  uses.push_back(write(step.values.staging(args.sent_bytes() + args.received_bytes(), c)));
  step.ops.collective(uses, args);
}

void add_head_tensors(Step& step, std::int64_t layer, std::int64_t c, std::uint8_t which,
                      Keeping keeping, std::vector<Exchanged>& to) {
  ChunkValues& at = step.at(layer, c);
  const std::int64_t width = step.dims.head_dim;
  if ((which & kQueries) != 0) {
    at.q = step.values.make(Activation::kQ, keeping, layer, c);
    to.push_back({at.slice_q, at.q, HeadKind::kQuery, width});
  }
  if ((which & kKeysAndValues) != 0) {
    at.k = step.values.make(Activation::kK, keeping, layer, c);
    at.v = step.values.make(Activation::kV, keeping, layer, c);
    to.push_back({at.slice_k, at.k, HeadKind::kKeyValue, width});
    to.push_back({at.slice_v, at.v, HeadKind::kKeyValue, width});
  }
}

}  // namespace ebbtide::model
