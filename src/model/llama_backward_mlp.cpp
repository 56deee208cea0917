// Backward of a chunk from its layer's output to the attention output.
#include "src/model/llama_backward.hpp"

namespace ebbtide::model {

void Backward::before_attention(std::int64_t l, std::int64_t c) {
  step_.program.begin_chunk_step();
  recompute_mlp_inputs(l, c);
  const ValueId dy =
      step_.mlp == Mlp::kSwiglu ? back_through_swiglu(l, c) : back_through_gelu(l, c);
  back_through_post_norm(l, c, dy);
  back_through_output_projection(l, c);
  if (!saves(SavedPart::kHeads, c)) {
    recompute_input_norm(l, c);
    make_q(step_, l, c, Keeping::kTransient);
  }
  if (step_.exchanges()) exchange_to_heads(l, c);
}

void Backward::recompute_mlp_inputs(std::int64_t l, std::int64_t c) {
  const bool recomputes = !saves(SavedPart::kMlp, c);
  if (recomputes) make_mid(step_, l, c, Keeping::kTransient, After::kStay);
  if (!saves(SavedPart::kNorms, c)) make_post_norm(step_, l, c, Keeping::kTransient);
  if (recomputes) make_gate_and_up(step_, l, c, Keeping::kTransient, After::kStay);
}

void Backward::recompute_input_norm(std::int64_t l, std::int64_t c) {
  if (!saves(SavedPart::kNorms, c)) make_input_norm(step_, l, c, Keeping::kTransient);
}

// The activated gate is never saved: it costs one pass over gate and up to make.
ValueId Backward::back_through_swiglu(std::int64_t l, std::int64_t c) {
  const ChunkValues& at = step_.at(l, c);
  const Through down{Slot::kDown, step_.dims.hidden, step_.dims.ffn};
  const Through gate{Slot::kGate, step_.dims.ffn, step_.dims.hidden};
  const Through up{Slot::kUp, step_.dims.ffn, step_.dims.hidden};
  const RowsArgs wide{step_.rows(c), static_cast<std::int32_t>(step_.dims.ffn)};
  const ValueId act = make(Activation::kAct, l, c);
  step_.ops.elementwise(OpName::kSwiglu, {read(at.gate), read(at.up), write(act)}, wide);
  weight_gradient(OpName::kDownWeightGradient, l, c, down, d_output(c), act);
  const ValueId d_act = make(Activation::kDAct, l, c);
  input_gradient(OpName::kDownGradient, l, c, down, d_output(c), d_act);
  const ValueId d_gate = make(Activation::kDGate, l, c);
  const ValueId d_up = make(Activation::kDUp, l, c);
  step_.ops.elementwise(OpName::kSwigluGradient,
                        {read(at.gate), read(at.up), read(d_act), write(d_gate), write(d_up)},
                        wide);
  weight_gradient(OpName::kGateWeightGradient, l, c, gate, d_gate, at.post_norm);
  weight_gradient(OpName::kUpWeightGradient, l, c, up, d_up, at.post_norm);
  const ValueId part = make(Activation::kDPostNormPart, l, c);
  input_gradient(OpName::kGateGradient, l, c, gate, d_gate, part);
  const ValueId dy = make(Activation::kDPostNorm, l, c);
  input_gradient(OpName::kUpGradient, l, c, up, d_up, dy, part);
  return dy;
}

ValueId Backward::back_through_gelu(std::int64_t l, std::int64_t c) {
  const ChunkValues& at = step_.at(l, c);
  const Through down{Slot::kDown, step_.dims.hidden, step_.dims.ffn};
  const Through gate{Slot::kGate, step_.dims.ffn, step_.dims.hidden};
  const RowsArgs wide{step_.rows(c), static_cast<std::int32_t>(step_.dims.ffn)};
  weight_gradient(OpName::kDownWeightGradient, l, c, down, d_output(c), at.up);
  const ValueId d_act = make(Activation::kDAct, l, c);
  input_gradient(OpName::kDownGradient, l, c, down, d_output(c), d_act);
  const ValueId d_gate = make(Activation::kDGate, l, c);
  step_.ops.elementwise(OpName::kGeluGradient, {read(at.gate), read(d_act), write(d_gate)}, wide);
  weight_gradient(OpName::kGateWeightGradient, l, c, gate, d_gate, at.post_norm);
  const ValueId dy = make(Activation::kDPostNorm, l, c);
  input_gradient(OpName::kGateGradient, l, c, gate, d_gate, dy);
  return dy;
}

void Backward::back_through_post_norm(std::int64_t l, std::int64_t c, ValueId dy) {
  d(l, c).d_mid = make(Activation::kDMid, l, c);
  norm_gradient(OpName::kPostNormGradient, l, c, Slot::kPostNorm, step_.at(l, c).mid, dy,
                d(l, c).d_mid, d_output(c));
}

void Backward::back_through_output_projection(std::int64_t l, std::int64_t c) {
  const ChunkValues& at = step_.at(l, c);
  const Through o{Slot::kO, step_.dims.hidden, step_.dims.q_width()};
  weight_gradient(OpName::kOWeightGradient, l, c, o, d(l, c).d_mid, at.attention);
  d(l, c).d_attention = make(Activation::kDAttention, l, c);
  input_gradient(OpName::kOGradient, l, c, o, d(l, c).d_mid, d(l, c).d_attention);
  d(l, c).delta = make(Activation::kDelta, l, c);
  step_.ops.elementwise(OpName::kAttentionDelta,
                        {read(at.attention), read(d(l, c).d_attention), write(d(l, c).delta)},
                        {step_.rows(c), static_cast<std::int32_t>(step_.dims.q_width())});
}

}  // namespace ebbtide::model
