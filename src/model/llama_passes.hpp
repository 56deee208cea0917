// The parts of a step in the order of a step. Internal to the model.
#pragma once

#include "src/model/llama_gradients.hpp"
#include "src/model/llama_step.hpp"

namespace ebbtide::model {

// The embedding and all layers; groups and chunks ascending. `after_chunk` is called when the last
// layer's output of a chunk exists, with that value.
using ChunkDone = std::function<void(std::int64_t chunk, ValueId output)>;
void add_forward(Step& step, const ChunkDone& after_chunk);

// Final norm, head and loss of chunk c; `output` is dead afterwards. Training leaves the gradient
// of `output` in step.d_output[c].
void add_loss(Step& step, std::int64_t c, ValueId output);
void add_loss_and_gradient(Step& step, Gradients& gradients, std::int64_t c, ValueId output);

// All layers and the embedding; layers, groups and chunks descending, keys ascending, so that every
// sum has one order whatever the group.
void add_backward(Step& step, Gradients& gradients);

}  // namespace ebbtide::model
