#include "src/model/llama_backward.hpp"

#include "src/model/llama_passes.hpp"

namespace ebbtide::model {
namespace {

// What differs between q, k and v on the way back.
struct HeadSlot {
  OpName head_op;
  OpName bias_op;
  Slot bias;
  Slot norm = Slot::kQNorm;
  Activation rounded;
  std::uint8_t extras = kNoExtra;
};

HeadSlot head_slot(Slot slot) {
  switch (slot) {
    case Slot::kQ:
      return {OpName::kQHeadGradient, OpName::kQBiasGradient, Slot::kQBias,
              Slot::kQNorm,           Activation::kDRawQ,     kWithRope};
    case Slot::kK:
      return {OpName::kKHeadGradient, OpName::kKBiasGradient, Slot::kKBias,
              Slot::kKNorm,           Activation::kDRawK,     kWithRope};
    default:
      return {OpName::kVHeadGradient, OpName::kVBiasGradient, Slot::kVBias,
              Slot::kQNorm,           Activation::kDRawV,     kNoExtra};
  }
}

}  // namespace

Backward::Backward(Step& step, Gradients& gradients)
    : step_(step), gradients_(gradients), d_(static_cast<std::size_t>(step.dims.chunks())) {}

void Backward::layer(std::int64_t l) {
  make_keys(l);
  for (std::int64_t g = step_.groups() - 1; g >= 0; --g) {
    const Group group = step_.group(g);
    for (std::int64_t c = group.last; c >= group.first; --c) before_attention(l, c);
    for (std::int64_t j = 0; j <= group.last; ++j) {
      step_.program.begin_chunk_step();
      for (std::int64_t c = group.last; c >= std::max(j, group.first); --c) pair(l, c, j);
    }
    for (std::int64_t c = group.last; c >= group.first; --c) after_attention(l, c);
  }
  for (std::size_t p = 0; p < step_.params.per_layer(); ++p)
    gradients_.complete(step_.params.first_of(l) + p);
}

// The last chunk needs the keys of all the others, so those that were not saved are made before the
// descending pass.
void Backward::make_keys(std::int64_t l) {
  for (std::int64_t c = 0; c < step_.dims.chunks(); ++c) {
    if (step_.rule.saves(c)) continue;
    step_.program.begin_chunk_step();
    make_input_norm(step_, l, c, Keeping::kTransient);
    make_k(step_, l, c, Keeping::kTransient);
    make_v(step_, l, c, Keeping::kTransient);
  }
}

void Backward::pair(std::int64_t l, std::int64_t c, std::int64_t j) {
  const ChunkValues& at = step_.at(l, c);
  const ChunkValues& key = step_.at(l, j);
  const bool first_query = c == step_.dims.chunks() - 1;
  if (j == 0) d(c).dq = make(Activation::kDQ, l, c);
  if (first_query) {
    d(j).dk = make(Activation::kDK, l, j);
    d(j).dv = make(Activation::kDV, l, j);
  }
  const Access dq_access = j == 0 ? Access::kWrite : Access::kUpdate;
  const Access dkv_access = first_query ? Access::kWrite : Access::kUpdate;
  PairArgs args;
  args.q_rows = step_.rows(c);
  args.k_rows = step_.rows(j);
  args.causality = j == c ? kernels::Causality::kDiagonal : kernels::Causality::kFull;
  args.order = j == 0 ? kernels::PairOrder::kFirst : kernels::PairOrder::kLater;
  args.dkv_order = first_query ? kernels::PairOrder::kFirst : kernels::PairOrder::kLater;
  step_.ops.attention(
      OpName::kAttentionGradient,
      {read(at.q), read(key.k), read(key.v), read(d(c).d_attention), read(at.lse), read(d(c).delta),
       make_use(d(c).dq, dq_access), make_use(d(j).dk, dkv_access), make_use(d(j).dv, dkv_access)},
      args);
}

void Backward::after_attention(std::int64_t l, std::int64_t c) {
  step_.program.begin_chunk_step();
  if (!step_.rule.saves(c)) make_input_norm(step_, l, c, Keeping::kTransient);
  const ValueId dy = back_through_projections(l, c);
  back_through_input_norm(l, c, dy);
  if (l == 0) embedding(c);
}

// From the fp32 sum over pairs to the gradient of the projection's output, in the step's dtype.
ValueId Backward::projected_gradient(std::int64_t l, std::int64_t c, Slot slot) {
  const HeadSlot head = head_slot(slot);
  const ChunkValues& at = step_.at(l, c);
  const bool q = slot == Slot::kQ;
  const ValueId sum = q ? d(c).dq : slot == Slot::kK ? d(c).dk : d(c).dv;
  const bool rounds = step_.dims.dtype != DType::kF32;
  const ValueId result = rounds ? make(head.rounded, l, c) : sum;
  NormArgs args;
  args.tokens = step_.rows(c);
  args.heads = static_cast<std::int32_t>(q ? step_.dims.heads : step_.dims.kv_heads);
  args.width = static_cast<std::int32_t>(step_.dims.head_dim);
  args.extras = head.extras;
  std::vector<Use> uses{(head.extras & kWithRope) != 0 || !rounds ? update(sum) : read(sum)};
  if ((head.extras & kWithRope) != 0) uses.push_back(read(step_.rope[static_cast<std::size_t>(c)]));
  if (rounds) uses.push_back(write(result));
  if (slot != Slot::kV && step_.params.has(head.norm)) {
    args.extras |= kWithNorm;
    const Use d_norm = gradients_.sum(step_.params.at(l, head.norm));
    uses.insert(uses.end(), {read(q ? at.raw_q : at.raw_k), step_.weight(l, head.norm), d_norm});
  }
  if (slot == Slot::kV && !rounds) return sum;  // nothing to do
  step_.ops.norm(head.head_op, uses, args);
  return result;
}

void Backward::bias_gradient(OpName op, std::int64_t l, std::int64_t c, Slot slot, ValueId dy,
                             std::int64_t width) {
  if (!step_.params.has(slot)) return;
  const Use sum = gradients_.sum(step_.params.at(l, slot));
  step_.ops.elementwise(op, {read(dy), sum}, {step_.rows(c), static_cast<std::int32_t>(width)});
}

// Gives the gradient of the input norm's output: q's, k's and v's parts added in that order.
ValueId Backward::back_through_projections(std::int64_t l, std::int64_t c) {
  const ValueId x = step_.at(l, c).input_norm;
  const Through q{Slot::kQ, step_.dims.q_width(), step_.dims.hidden};
  const Through k{Slot::kK, step_.dims.kv_width(), step_.dims.hidden};
  const Through v{Slot::kV, step_.dims.kv_width(), step_.dims.hidden};
  const ValueId dq = projected_gradient(l, c, Slot::kQ);
  const ValueId dk = projected_gradient(l, c, Slot::kK);
  const ValueId dv = projected_gradient(l, c, Slot::kV);
  bias_gradient(OpName::kQBiasGradient, l, c, Slot::kQBias, dq, q.out);
  bias_gradient(OpName::kKBiasGradient, l, c, Slot::kKBias, dk, k.out);
  bias_gradient(OpName::kVBiasGradient, l, c, Slot::kVBias, dv, v.out);
  weight_gradient(OpName::kQWeightGradient, l, c, q, dq, x);
  weight_gradient(OpName::kKWeightGradient, l, c, k, dk, x);
  weight_gradient(OpName::kVWeightGradient, l, c, v, dv, x);
  const ValueId of_q = make(Activation::kDInputNormQ, l, c);
  const ValueId of_qk = make(Activation::kDInputNormQk, l, c);
  const ValueId all = make(Activation::kDInputNorm, l, c);
  input_gradient(OpName::kQGradient, l, c, q, dq, of_q);
  input_gradient(OpName::kKGradient, l, c, k, dk, of_qk, of_q);
  input_gradient(OpName::kVGradient, l, c, v, dv, all, of_qk);
  return all;
}

void Backward::back_through_input_norm(std::int64_t l, std::int64_t c, ValueId dy) {
  const ValueId dx = make(Activation::kDInput, l, c);
  norm_gradient(OpName::kInputNormGradient, l, c, Slot::kInputNorm, step_.at(l, c).input, dy, dx,
                d(c).d_mid);
  d_output(c) = dx;
}

void Backward::embedding(std::int64_t c) {
  const Use sum = gradients_.sum(step_.params.embedding());
  step_.ops.embedding(OpName::kEmbeddingGradient,
                      {read(step_.values.tokens(c)), read(d_output(c)), sum}, step_.dims.rows(c));
}

ValueId Backward::make(Activation what, std::int64_t l, std::int64_t c) {
  return step_.values.make(what, Keeping::kTransient, l, c);
}

void Backward::weight_gradient(OpName op, std::int64_t l, std::int64_t c, const Through& w,
                               ValueId dy, ValueId x) {
  const Gradients::Product product = gradients_.product(step_.params.at(l, w.slot));
  LinearArgs args;
  args.rows = step_.rows(c);
  args.in = static_cast<std::int32_t>(w.in);
  args.out = static_cast<std::int32_t>(w.out);
  args.accumulate = product.accumulate;
  step_.ops.linear(op, {read(dy), read(x), product.use}, args);
}

void Backward::input_gradient(OpName op, std::int64_t l, std::int64_t c, const Through& w,
                              ValueId dy, ValueId dx, std::optional<ValueId> residual) {
  LinearArgs args;
  args.rows = step_.rows(c);
  args.in = static_cast<std::int32_t>(w.in);
  args.out = static_cast<std::int32_t>(w.out);
  std::vector<Use> uses{read(dy), step_.weight(l, w.slot), write(dx)};
  if (residual) {
    args.extras = kWithResidual;
    uses.push_back(read(*residual));
  }
  step_.ops.linear(op, uses, args);
}

void Backward::norm_gradient(OpName op, std::int64_t l, std::int64_t c, Slot slot, ValueId x,
                             ValueId dy, ValueId dx, ValueId residual) {
  const Use d_weight = gradients_.sum(step_.params.at(l, slot));
  NormArgs args;
  args.tokens = step_.rows(c);
  args.width = static_cast<std::int32_t>(step_.dims.hidden);
  args.extras = kWithResidual;
  const std::array uses{read(x),  step_.weight(l, slot), read(dy), write(dx),
                        d_weight, read(residual)};
  step_.ops.norm(op, uses, args);
}

void add_backward(Step& step, Gradients& gradients) {
  Backward backward(step, gradients);
  for (std::int64_t l = step.dims.layers - 1; l >= 0; --l) backward.layer(l);
  gradients.complete(step.params.embedding());
}

}  // namespace ebbtide::model
