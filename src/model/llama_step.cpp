#include "src/model/llama_step.hpp"

#include "ebbtide/error.hpp"

namespace ebbtide::model {
namespace {

// The projection to q, k or v: its op, weight, bias and head norm.
struct HeadProjection {
  OpName op;
  Slot weight;
  Slot bias;
  OpName norm_op = OpName::kQNorm;
  Slot norm = Slot::kQNorm;
  std::int64_t heads = 0;
};

// y = x W^T + b, rotated where the extras say so.
void project_heads(Step& step, const HeadProjection& to, std::int64_t layer, std::int64_t c, Use x,
                   ValueId y, std::uint8_t extras) {
  std::vector<Use> uses{x, step.weight(layer, to.weight), write(y)};
  if (step.params.has(to.bias)) {
    extras |= kWithBias;
    uses.push_back(step.weight(layer, to.bias));
  }
  if ((extras & kWithRope) != 0) uses.push_back(read(step.rope[static_cast<std::size_t>(c)]));
  LinearArgs args;
  args.rows = step.rows(c);
  args.in = static_cast<std::int32_t>(step.dims.hidden);
  args.out = static_cast<std::int32_t>(to.heads * step.dims.head_dim);
  args.extras = extras;
  step.ops.linear(to.op, uses, args);
}

void rotate_normed(Step& step, const HeadProjection& to, std::int64_t layer, std::int64_t c,
                   Use raw, ValueId y) {
  NormArgs args;
  args.tokens = step.rows(c);
  args.heads = static_cast<std::int32_t>(to.heads);
  args.width = static_cast<std::int32_t>(step.dims.head_dim);
  args.extras = kWithRope;
  const std::array uses{raw, step.weight(layer, to.norm), write(y),
                        read(step.rope[static_cast<std::size_t>(c)])};
  step.ops.norm(to.norm_op, uses, args);
}

void hidden_norm(Step& step, OpName op, std::int64_t c, Use x, Use weight, ValueId y) {
  NormArgs args;
  args.tokens = step.rows(c);
  args.width = static_cast<std::int32_t>(step.dims.hidden);
  const std::array uses{x, weight, write(y)};
  step.ops.norm(op, uses, args);
}

// A projection to heads that are rotated, and normed before where the model does that; then the
// projection as it was before its norm is a value of its own.
struct RotatedHeads {
  HeadProjection projection;
  Activation kind;
  Activation raw_kind;
  ValueId& value;
  ValueId& raw;
};

void make_rotated(Step& step, const RotatedHeads& heads, std::int64_t layer, std::int64_t c,
                  Keeping keeping) {
  const HeadProjection& to = heads.projection;
  const Use from = read(step.at(layer, c).input_norm);
  const Keeping result = step.exchanges() ? Keeping::kTransient : keeping;
  heads.value = step.values.make(heads.kind, result, layer, c);
  if (!step.params.has(to.norm))
    return project_heads(step, to, layer, c, from, heads.value, kWithRope);
  heads.raw = step.values.make(heads.raw_kind, keeping, layer, c);
  project_heads(step, to, layer, c, from, heads.raw, kNoExtra);
  rotate_normed(step, to, layer, c, read(heads.raw, step.after(keeping)), heads.value);
}

}  // namespace

Step::Step(const ModelConfig& config, const ModelHomes& homes, const StepDims& dims_,
           Purpose purpose_, const ActivationPolicy& policy, SharedKernels kernels, OpFunction comm)
    : dims(dims_),
      params(config),
      purpose(purpose_),
      mlp(config.use == ModelConfig::Use::kTrain ? Mlp::kSwiglu : Mlp::kGelu),
      rule(policy, dims_.chunks()),
      ops(program, dims_, std::move(kernels), std::move(comm)),
      values(program, config, homes, dims_, rule.reach()),
      chunks(static_cast<std::size_t>(dims_.layers * dims_.chunks())),
      gathered(homes.parameters.size()) {
  program.set_home_bytes(homes.layout.bytes());
}

Use Step::weight(std::size_t parameter) {
  if (!dims.ranks.many()) return read(values.parameter(parameter, State::kWeight));
  EBBTIDE_CHECK(gathered[parameter].has_value(), "a weight is used before it was gathered");
  return read(*gathered[parameter]);
}

Group Step::group(std::int64_t g) const {
  const std::int64_t first = g * dims.attention_group;
  return {first, std::min(first + dims.attention_group, dims.chunks()) - 1};
}

std::int64_t Step::groups() const {
  return (dims.chunks() + dims.attention_group - 1) / dims.attention_group;
}

void make_input_norm(Step& step, std::int64_t layer, std::int64_t c, Keeping keeping) {
  ChunkValues& at = step.at(layer, c);
  at.input_norm = step.values.make(Activation::kInputNorm, keeping, layer, c);
  hidden_norm(step, OpName::kInputNorm, c, read(at.input), step.weight(layer, Slot::kInputNorm),
              at.input_norm);
}

void make_q(Step& step, std::int64_t layer, std::int64_t c, Keeping keeping) {
  ChunkValues& at = step.at(layer, c);
  const HeadProjection to{OpName::kQ,     Slot::kQ,     Slot::kQBias,
                          OpName::kQNorm, Slot::kQNorm, step.dims.heads};
  const bool slice = step.exchanges();
  make_rotated(step,
               {to, slice ? Activation::kSliceQ : Activation::kQ, Activation::kRawQ,
                slice ? at.slice_q : at.q, at.raw_q},
               layer, c, keeping);
}

void make_k(Step& step, std::int64_t layer, std::int64_t c, Keeping keeping) {
  ChunkValues& at = step.at(layer, c);
  const HeadProjection to{OpName::kK,     Slot::kK,     Slot::kKBias,
                          OpName::kKNorm, Slot::kKNorm, step.dims.kv_heads};
  const bool slice = step.exchanges();
  make_rotated(step,
               {to, slice ? Activation::kSliceK : Activation::kK, Activation::kRawK,
                slice ? at.slice_k : at.k, at.raw_k},
               layer, c, keeping);
}

// v comes last of the three: the norm's output leaves here.
void make_v(Step& step, std::int64_t layer, std::int64_t c, Keeping keeping, After norm) {
  ChunkValues& at = step.at(layer, c);
  HeadProjection to{OpName::kV, Slot::kV, Slot::kVBias};
  to.heads = step.dims.kv_heads;
  ValueId& v = step.exchanges() ? at.slice_v : at.v;
  v = step.exchanges() ? step.values.make(Activation::kSliceV, Keeping::kTransient, layer, c)
                       : step.values.make(Activation::kV, keeping, layer, c);
  project_heads(step, to, layer, c, read(at.input_norm, norm), v, kNoExtra);
}

void make_mid(Step& step, std::int64_t layer, std::int64_t c, Keeping keeping, After inputs) {
  ChunkValues& at = step.at(layer, c);
  at.mid = step.values.make(Activation::kMid, keeping, layer, c);
  LinearArgs args;
  args.rows = step.rows(c);
  args.in = static_cast<std::int32_t>(step.dims.q_width());
  args.out = static_cast<std::int32_t>(step.dims.hidden);
  args.extras = kWithResidual;
  step.ops.linear(OpName::kO,
                  {read(at.attention, inputs), step.weight(layer, Slot::kO), write(at.mid),
                   read(at.input, inputs)},
                  args);
}

void make_post_norm(Step& step, std::int64_t layer, std::int64_t c, Keeping keeping) {
  ChunkValues& at = step.at(layer, c);
  at.post_norm = step.values.make(Activation::kPostNorm, keeping, layer, c);
  hidden_norm(step, OpName::kPostNorm, c, read(at.mid), step.weight(layer, Slot::kPostNorm),
              at.post_norm);
}

void make_gate_and_up(Step& step, std::int64_t layer, std::int64_t c, Keeping keeping, After norm) {
  ChunkValues& at = step.at(layer, c);
  const After last = step.after(keeping);
  LinearArgs args;
  args.rows = step.rows(c);
  args.in = static_cast<std::int32_t>(step.dims.hidden);
  args.out = static_cast<std::int32_t>(step.dims.ffn);
  at.gate = step.values.make(Activation::kGate, keeping, layer, c);
  at.up = step.values.make(Activation::kUp, keeping, layer, c);
  const bool gelu = step.mlp == Mlp::kGelu;
  step.ops.linear(OpName::kGate,
                  {read(at.post_norm, gelu ? norm : After::kStay), step.weight(layer, Slot::kGate),
                   write(at.gate)},
                  args);
  if (gelu) {
    // the hidden activation after GELU stands where up stands
    step.ops.elementwise(OpName::kGelu, {read(at.gate, last), write(at.up)}, {args.rows, args.out});
    return;
  }
  step.ops.linear(OpName::kUp,
                  {read(at.post_norm, norm), step.weight(layer, Slot::kUp), write(at.up)}, args);
}

}  // namespace ebbtide::model
