// What a step of many ranks does beside the ops of one: weights gathered before use, tensors
// exchanged around attention, sums over ranks. Internal to the model.
//
// A collective is written into the program as early as its operands are there, and what needs it as
// late as it may come: the comm lane then has time to run ahead.
#pragma once

#include <span>

#include "src/model/llama_step.hpp"

namespace ebbtide::model {

// One all-gather of the parameters' shards into values that Step::weight_value() gives from now on.
void gather(Step& step, std::span<const std::size_t> parameters);
// The embedding, a layer, or, for layer `layers`, the final norm and the head.
void gather_embedding(Step& step);
void gather_layer(Step& step, std::int64_t layer);

// One reduce-scatter of whole gradients into their shards. By parameter: whether it adds.
struct Reduced {
  std::size_t parameter = 0;
  ValueId whole = 0;
};
void reduce_scatter(Step& step, std::span<const Reduced> reduced, ShardStart start);

// Adds up a value over all ranks.
void all_reduce(Step& step, std::span<const ValueId> values);

// Of chunk c: turned to the rank's heads, or back to its slice.
struct Exchanged {
  ValueId from = 0;
  ValueId to = 0;
  HeadKind heads = HeadKind::kQuery;
  std::int64_t width = 0;  // elements of a token and head
};
void exchange(Step& step, CollectiveKind direction, std::int64_t c,
              std::span<const Exchanged> tensors);

// q, k or v of chunk c from the projections' slices to the rank's heads.
enum HeadTensors : std::uint8_t { kQueries = 1, kKeysAndValues = 2 };
void add_head_tensors(Step& step, std::int64_t layer, std::int64_t c, std::uint8_t which,
                      Keeping keeping, std::vector<Exchanged>& to);

}  // namespace ebbtide::model
