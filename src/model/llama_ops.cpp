#include "src/model/llama_ops.hpp"

#include "ebbtide/error.hpp"

namespace ebbtide::model {
namespace {

struct OpEntry {
  OpName op;
  const char* name;
  BindingFunction run;
  Place place = Place::kDevice;
};

using N = OpName;
constexpr std::array<OpEntry, kOpNameCount> kOps{{
    {N::kEmbedding, "embedding", run_embedding},
    {N::kRopeTable, "rope table", run_rope_table},
    {N::kInputNorm, "input norm", run_norm},
    {N::kQ, "q projection", run_linear},
    {N::kK, "k projection", run_linear},
    {N::kV, "v projection", run_linear},
    {N::kQNorm, "q norm", run_norm},
    {N::kKNorm, "k norm", run_norm},
    {N::kAttention, "attention", run_attention},
    {N::kRoundAttention, "round attention output", run_round},
    {N::kO, "output projection", run_linear},
    {N::kPostNorm, "post-attention norm", run_norm},
    {N::kGate, "gate projection", run_linear},
    {N::kUp, "up projection", run_linear},
    {N::kSwiglu, "swiglu", run_swiglu},
    {N::kGelu, "gelu", nullptr},
    {N::kDown, "down projection", run_linear},
    {N::kFinalNorm, "final norm", run_norm},
    {N::kHeadLoss, "head and loss", run_head_loss},
    {N::kHeadLossGradient, "head and loss, with gradient", run_head_loss_gradient},
    {N::kFinalNormGradient, "final norm gradient", run_norm_gradient},
    {N::kDownWeightGradient, "down weight gradient", run_weight_gradient},
    {N::kDownGradient, "down gradient", run_input_gradient},
    {N::kSwigluGradient, "swiglu gradient", run_swiglu_gradient},
    {N::kGeluGradient, "gelu gradient", nullptr},
    {N::kGateWeightGradient, "gate weight gradient", run_weight_gradient},
    {N::kUpWeightGradient, "up weight gradient", run_weight_gradient},
    {N::kGateGradient, "gate gradient", run_input_gradient},
    {N::kUpGradient, "up gradient", run_input_gradient},
    {N::kPostNormGradient, "post-attention norm gradient", run_norm_gradient},
    {N::kOWeightGradient, "o weight gradient", run_weight_gradient},
    {N::kOGradient, "o gradient", run_input_gradient},
    {N::kAttentionDelta, "attention delta", run_attention_delta},
    {N::kAttentionGradient, "attention gradient", run_attention_gradient},
    {N::kQHeadGradient, "q head gradient", run_head_gradient},
    {N::kKHeadGradient, "k head gradient", run_head_gradient},
    {N::kVHeadGradient, "v head gradient", run_head_gradient},
    {N::kQWeightGradient, "q weight gradient", run_weight_gradient},
    {N::kKWeightGradient, "k weight gradient", run_weight_gradient},
    {N::kVWeightGradient, "v weight gradient", run_weight_gradient},
    {N::kQBiasGradient, "q bias gradient", run_bias_gradient},
    {N::kKBiasGradient, "k bias gradient", run_bias_gradient},
    {N::kVBiasGradient, "v bias gradient", run_bias_gradient},
    {N::kQGradient, "q gradient", run_input_gradient},
    {N::kKGradient, "k gradient", run_input_gradient},
    {N::kVGradient, "v gradient", run_input_gradient},
    {N::kInputNormGradient, "input norm gradient", run_norm_gradient},
    {N::kEmbeddingGradient, "embedding gradient", run_embedding_gradient},
    {N::kZero, "zero", run_zero},
    {N::kSumOfSquares, "sum of squares", run_sum_of_squares},
    {N::kGradientNorm, "gradient norm", run_gradient_norm, Place::kHost},
    {N::kAdamW, "adamw", run_adamw, Place::kHost},
    {N::kAllGather, "all-gather of weights", nullptr, Place::kComm},
    {N::kReduceScatter, "reduce-scatter of gradients", nullptr, Place::kComm},
    {N::kTokensToHeads, "all-to-all to heads", nullptr, Place::kComm},
    {N::kHeadsToTokens, "all-to-all to tokens", nullptr, Place::kComm},
    {N::kAllReduce, "all-reduce", nullptr, Place::kComm},
}};

constexpr bool ops_in_order() {
  for (std::size_t i = 0; i < kOpNameCount; ++i)
    if (kOps[i].op != static_cast<OpName>(i)) return false;
  return true;
}
static_assert(ops_in_order());

OpName name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllGather:
      return N::kAllGather;
    case CollectiveKind::kReduceScatter:
      return N::kReduceScatter;
    case CollectiveKind::kTokensToHeads:
      return N::kTokensToHeads;
    case CollectiveKind::kHeadsToTokens:
      return N::kHeadsToTokens;
    case CollectiveKind::kAllReduce:
      break;
  }
  return N::kAllReduce;
}

OpClass class_of(const OpEntry& entry) {
  if (entry.op == N::kAttention || entry.op == N::kAttentionGradient) return OpClass::kAttention;
  for (const BindingFunction product :
       {run_linear, run_weight_gradient, run_input_gradient, run_head_loss, run_head_loss_gradient})
    if (entry.run == product) return OpClass::kMatmul;
  return OpClass::kElementwise;
}

// Operations on each element of the widest operand.
constexpr double kElementFlops = 8;

double pairs_of(const PairArgs& args) {
  const double q = args.q_rows;
  return args.causality == kernels::Causality::kDiagonal ? q * (q + 1) / 2 : q * args.k_rows;
}

}  // namespace

StepOps::StepOps(Program& program, const StepDims& dims, SharedKernels kernels, OpFunction comm)
    : program_(program),
      binding_(std::make_shared<const Binding>(Binding{dims, std::move(kernels)})),
      comm_(std::move(comm)) {
  kernels_.fill(-1);
}

KernelId StepOps::kernel(OpName op) {
  std::int32_t& id = kernels_[static_cast<std::size_t>(op)];
  if (id >= 0) return static_cast<KernelId>(id);
  const OpEntry& entry = kOps[static_cast<std::size_t>(op)];
  Kernel made{entry.name, entry.place, {}, class_of(entry)};
  if (entry.place == Place::kComm)
    made.run = comm_;
  else if (binding_->kernels != nullptr)
    made.run = [binding = binding_, run = entry.run](const OpContext& context) {
      run(*binding, context);
    };
  id = program_.add_kernel(std::move(made));
  return static_cast<KernelId>(id);
}

double StepOps::operand_bytes(std::span<const Use> uses) const {
  double bytes = 0;
  for (const Use& use : uses)
    bytes += static_cast<double>(program_.value(use.value).size_bytes) *
             (use.access() == Access::kUpdate ? 2 : 1);
  return bytes;
}

template <typename Args>
void StepOps::add(OpName op, std::span<const Use> uses, const Args& args, double flops) {
  program_.add_op(kernel(op), uses, std::as_bytes(std::span(&args, 1)),
                  {flops, operand_bytes(uses)});
}

void StepOps::linear(OpName op, std::initializer_list<Use> uses, const LinearArgs& args) {
  linear(op, std::span(uses.begin(), uses.size()), args);
}

void StepOps::linear(OpName op, std::span<const Use> uses, const LinearArgs& args) {
  add(op, uses, args, 2.0 * args.rows * args.in * args.out);
}

void StepOps::norm(OpName op, std::span<const Use> uses, const NormArgs& args) {
  add(op, uses, args, kElementFlops * args.tokens * args.heads * args.width);
}

void StepOps::attention(OpName op, std::initializer_list<Use> uses, const PairArgs& args) {
  // forward: scores and output; backward: scores, dp, dv, dq, dk (Dao 2023)
  const double products = op == OpName::kAttention ? 2 : 5;
  const double width = static_cast<double>(binding_->dims.rank_q_width());
  add(op, std::span(uses.begin(), uses.size()), args, products * 2 * width * pairs_of(args));
}

void StepOps::elementwise(OpName op, std::initializer_list<Use> uses, const RowsArgs& args) {
  add(op, std::span(uses.begin(), uses.size()), args, kElementFlops * args.rows * args.cols);
}

void StepOps::embedding(OpName op, std::initializer_list<Use> uses, std::int64_t rows) {
  const StepDims& dims = binding_->dims;
  const double elements = static_cast<double>(rows * dims.hidden);
  const RowsArgs args{static_cast<std::int32_t>(rows), static_cast<std::int32_t>(dims.hidden)};
  // only the rows of the ids are touched: read and written, or read, added to and written
  const auto element = static_cast<double>(dtype_bytes(dims.dtype));
  const double bytes = op == OpName::kEmbedding ? 2 * element : element + 8;
  program_.add_op(kernel(op), std::span(uses.begin(), uses.size()),
                  std::as_bytes(std::span(&args, 1)), {elements, elements * bytes});
}

void StepOps::collective(std::span<const Use> uses, const CollectiveArgs& args) {
  program_.add_op(kernel(name_of(args.collective.kind)), uses, pack(args),
                  {.flops = 0,
                   .memory_bytes = operand_bytes(uses),
                   .sent_bytes = static_cast<double>(args.sent_bytes())});
}

void StepOps::rope_table(Use table, const RopeTableArgs& args) {
  constexpr double kSineFlops = 20;
  add(OpName::kRopeTable, {&table, 1}, args,
      kSineFlops * args.rows * static_cast<double>(binding_->dims.head_dim));
}

void StepOps::head_loss(OpName op, std::span<const Use> uses, const HeadArgs& args) {
  const StepDims& dims = binding_->dims;
  const double product = 2.0 * args.rows * static_cast<double>(dims.hidden * dims.vocab);
  add(op, uses, args, product * (op == OpName::kHeadLoss ? 1 : 3));
}

void StepOps::zero(Use x) {
  add(OpName::kZero, {&x, 1}, BytesArgs{program_.value(x.value).size_bytes}, 0);
}

void StepOps::sum_of_squares(Use x, Use sum) {
  const std::uint64_t bytes = program_.value(x.value).size_bytes;
  const std::array uses{x, sum};
  add(OpName::kSumOfSquares, uses, BytesArgs{bytes}, 2 * static_cast<double>(bytes) / 4);
}

void StepOps::gradient_norm(std::span<const Use> uses, const NormOfGradientsArgs& args) {
  add(OpName::kGradientNorm, uses, args, args.parameters);
}

void StepOps::adamw(std::span<const Use> uses, const AdamWArgs& args) {
  constexpr double kUpdateFlops = 16;
  add(OpName::kAdamW, uses, args, kUpdateFlops * static_cast<double>(args.count));
}

}  // namespace ebbtide::model
