#include "src/model/llama_backward.hpp"

#include "src/model/llama_passes.hpp"
#include "src/model/llama_pipeline.hpp"

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
    : step_(step), gradients_(gradients), d_(static_cast<std::size_t>(2 * step.dims.chunks())) {}

void Backward::run() {
  if (step_.dims.ranks.many()) return run_pipelined();
  for (std::int64_t l = step_.dims.layers - 1; l >= 0; --l)
    for (std::int64_t g = step_.groups() - 1; g >= 0; --g) {
      before_group(l, g);
      pairs(l, g);
      after_group(l, g);
    }
}

// The last layer's weights are still there from forward.
void Backward::run_pipelined() {
  const std::int64_t last_layer = step_.dims.layers - 1;
  const std::int64_t last_group = step_.groups() - 1;
  Pipeline pipeline(
      step_.dims.layers, step_.groups(),
      {.gather =
           [&](auto i) {
             if (i > 0) gather_layer(step_, last_layer - i);
           },
       .before = [&](auto i, auto g) { before_group(last_layer - i, last_group - g); },
       .attention = [&](auto i, auto g) { pairs(last_layer - i, last_group - g); },
       .after = [&](auto i, auto g) { after_group(last_layer - i, last_group - g); }});
  pipeline.run();
}

void Backward::before_group(std::int64_t l, std::int64_t g) {
  if (g == step_.groups() - 1) make_keys(l);
  const Group group = step_.group(g);
  for (std::int64_t c = group.last; c >= group.first; --c) before_attention(l, c);
}

void Backward::pairs(std::int64_t l, std::int64_t g) {
  const Group group = step_.group(g);
  for (std::int64_t j = 0; j <= group.last; ++j) {
    step_.program.begin_chunk_step();
    for (std::int64_t c = group.last; c >= std::max(j, group.first); --c) pair(l, c, j);
  }
  if (!step_.exchanges()) return;
  for (std::int64_t c = group.last; c >= group.first; --c) exchange_back(l, c);
}

void Backward::after_group(std::int64_t l, std::int64_t g) {
  const Group group = step_.group(g);
  for (std::int64_t c = group.last; c >= group.first; --c) after_attention(l, c);
  if (g == 0) complete(l);
}

void Backward::complete(std::int64_t l) {
  std::vector<std::size_t> parameters;
  for (std::size_t p = 0; p < step_.params.per_layer(); ++p)
    parameters.push_back(step_.params.first_of(l) + p);
  gradients_.complete(parameters);
}

// What attention reads of chunk c besides what is saved, by heads.
void Backward::exchange_to_heads(std::int64_t l, std::int64_t c) {
  ChunkGradients& at = d(l, c);
  const ValueId d_attention = make(Activation::kHeadDAttention, l, c);
  const ValueId delta = make(Activation::kHeadDelta, l, c);
  std::vector<Exchanged> tensors{
      {at.d_attention, d_attention, HeadKind::kQuery, step_.dims.head_dim},
      {at.delta, delta, HeadKind::kQuery, 1}};
  if (!saves(SavedPart::kHeads, c))
    add_head_tensors(step_, l, c, kQueries, Keeping::kTransient, tensors);
  exchange(step_, CollectiveKind::kTokensToHeads, c, tensors);
  at.d_attention = d_attention;
  at.delta = delta;
}

// No later chunk is left: dk and dv of chunk c are complete, as dq is.
void Backward::exchange_back(std::int64_t l, std::int64_t c) {
  ChunkGradients& at = d(l, c);
  const std::int64_t width = step_.dims.head_dim;
  const std::array tensors{
      Exchanged{at.dq, make(Activation::kSliceDQ, l, c), HeadKind::kQuery, width},
      Exchanged{at.dk, make(Activation::kSliceDK, l, c), HeadKind::kKeyValue, width},
      Exchanged{at.dv, make(Activation::kSliceDV, l, c), HeadKind::kKeyValue, width}};
  exchange(step_, CollectiveKind::kHeadsToTokens, c, tensors);
  at.dq = tensors[0].to;
  at.dk = tensors[1].to;
  at.dv = tensors[2].to;
}

// The last chunk needs the keys of all the others, so those that were not saved are made before the
// descending pass.
void Backward::make_keys(std::int64_t l) {
  for (std::int64_t c = 0; c < step_.dims.chunks(); ++c) {
    if (saves(SavedPart::kHeads, c)) continue;
    step_.program.begin_chunk_step();
    recompute_input_norm(l, c);
    make_k(step_, l, c, Keeping::kTransient);
    make_v(step_, l, c, Keeping::kTransient, After::kStay);
    if (!step_.exchanges()) continue;
    std::vector<Exchanged> keys;
    add_head_tensors(step_, l, c, kKeysAndValues, Keeping::kTransient, keys);
    exchange(step_, CollectiveKind::kTokensToHeads, c, keys);
  }
}

void Backward::pair(std::int64_t l, std::int64_t c, std::int64_t j) {
  const ChunkValues& at = step_.at(l, c);
  const ChunkValues& key = step_.at(l, j);
  const bool first_query = c == step_.dims.chunks() - 1;
  if (j == 0) d(l, c).dq = make(Activation::kDQ, l, c);
  if (first_query) {
    d(l, j).dk = make(Activation::kDK, l, j);
    d(l, j).dv = make(Activation::kDV, l, j);
  }
  const Access dq_access = j == 0 ? Access::kWrite : Access::kUpdate;
  const Access dkv_access = first_query ? Access::kWrite : Access::kUpdate;
  PairArgs args;
  args.q_rows = step_.chunk_rows(c);
  args.k_rows = step_.chunk_rows(j);
  args.causality = j == c ? kernels::Causality::kDiagonal : kernels::Causality::kFull;
  args.order = j == 0 ? kernels::PairOrder::kFirst : kernels::PairOrder::kLater;
  args.dkv_order = first_query ? kernels::PairOrder::kFirst : kernels::PairOrder::kLater;
  step_.ops.attention(OpName::kAttentionGradient,
                      {read(at.q), read(key.k), read(key.v), read(d(l, c).d_attention),
                       read(at.lse), read(d(l, c).delta), make_use(d(l, c).dq, dq_access),
                       make_use(d(l, j).dk, dkv_access), make_use(d(l, j).dv, dkv_access)},
                      args);
}

void Backward::after_attention(std::int64_t l, std::int64_t c) {
  step_.program.begin_chunk_step();
  recompute_input_norm(l, c);
  const ValueId dy = back_through_projections(l, c);
  back_through_input_norm(l, c, dy);
  if (l == 0) embedding(c);
}

// From the fp32 sum over pairs to the gradient of the projection's output, in the step's dtype.
ValueId Backward::projected_gradient(std::int64_t l, std::int64_t c, Slot slot) {
  const HeadSlot head = head_slot(slot);
  const ChunkValues& at = step_.at(l, c);
  const bool q = slot == Slot::kQ;
  const ValueId sum = q ? d(l, c).dq : slot == Slot::kK ? d(l, c).dk : d(l, c).dv;
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
                d(l, c).d_mid);
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
  Backward(step, gradients).run();
  const std::array embedding{step.params.embedding()};
  gradients.complete(embedding);
  gradients.finish();
}

}  // namespace ebbtide::model
