// Builds the backward half of a step. Internal to the model.
//
// Orders that make every sum independent of the attention group: chunks descending everywhere, so
// dW, dk_j and dv_j get their parts from the last chunk down; keys ascending, so dq_c gets its from
// key chunk 0 up.
#pragma once

#include <optional>
#include <vector>

#include "src/model/llama_gradients.hpp"

namespace ebbtide::model {

// Gradients of one chunk inside one layer.
struct ChunkGradients {
  ValueId d_mid = 0;
  ValueId d_attention = 0;
  ValueId delta = 0;
  ValueId dq = 0;  // fp32 sums over pairs
  ValueId dk = 0;
  ValueId dv = 0;
};

class Backward {
 public:
  Backward(Step& step, Gradients& gradients);
  void run();

 private:
  void run_pipelined();
  void before_group(std::int64_t l, std::int64_t g);
  void pairs(std::int64_t l, std::int64_t g);
  void after_group(std::int64_t l, std::int64_t g);
  void complete(std::int64_t l);
  // A layer's weight W (out, in) that a gradient goes back through.
  struct Through {
    Slot slot;
    std::int64_t out = 0;
    std::int64_t in = 0;
  };

  void make_keys(std::int64_t l);
  void before_attention(std::int64_t l, std::int64_t c);
  void pair(std::int64_t l, std::int64_t c, std::int64_t j);
  void after_attention(std::int64_t l, std::int64_t c);
  void exchange_to_heads(std::int64_t l, std::int64_t c);
  void exchange_back(std::int64_t l, std::int64_t c);

  bool saves(SavedPart part, std::int64_t c) const { return step_.rule.saves(part, c); }
  void recompute_mlp_inputs(std::int64_t l, std::int64_t c);
  void recompute_input_norm(std::int64_t l, std::int64_t c);
  ValueId back_through_swiglu(std::int64_t l, std::int64_t c);  // gives the post-norm's gradient
  ValueId back_through_gelu(std::int64_t l, std::int64_t c);
  void back_through_post_norm(std::int64_t l, std::int64_t c, ValueId dy);
  void back_through_output_projection(std::int64_t l, std::int64_t c);

  ValueId projected_gradient(std::int64_t l, std::int64_t c, Slot slot);
  ValueId back_through_projections(std::int64_t l, std::int64_t c);
  void bias_gradient(OpName op, std::int64_t l, std::int64_t c, Slot slot, ValueId dy,
                     std::int64_t width);
  void back_through_input_norm(std::int64_t l, std::int64_t c, ValueId dy);
  void embedding(std::int64_t c);

  ValueId make(Activation what, std::int64_t l, std::int64_t c);
  // dW (+)= dy^T x
  void weight_gradient(OpName op, std::int64_t l, std::int64_t c, const Through& w, ValueId dy,
                       ValueId x);
  // dx = dy W [+ residual]
  void input_gradient(OpName op, std::int64_t l, std::int64_t c, const Through& w, ValueId dy,
                      ValueId dx, std::optional<ValueId> residual = {});
  void norm_gradient(OpName op, std::int64_t l, std::int64_t c, Slot slot, ValueId x, ValueId dy,
                     ValueId dx, ValueId residual);
  ChunkGradients& d(std::int64_t l, std::int64_t c) {
    return d_[static_cast<std::size_t>(l % 2 * step_.dims.chunks() + c)];
  }
  ValueId& d_output(std::int64_t c) { return step_.d_output[static_cast<std::size_t>(c)]; }

  Step& step_;
  Gradients& gradients_;
  std::vector<ChunkGradients> d_;  // of two layers, since a pipeline begins one in the other
};

}  // namespace ebbtide::model
