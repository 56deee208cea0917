#include "src/model/llama_bindings.hpp"

#include "ebbtide/error.hpp"
#include "src/model/llama_operands.hpp"

namespace ebbtide::model {

using kernels::ConstTensor;
using kernels::Layout;
using kernels::Tensor;

void run_linear(const Binding& b, const OpContext& context) {
  const auto args = args_of<LinearArgs>(context);
  Operands next(b, context);
  kernels::Matmul op;
  op.a = next.tensor(args.rows, args.in);
  op.b = next.tensor(args.out, args.in);
  op.b_layout = Layout::kTransposed;
  op.out = next.tensor(args.rows, args.out);
  op.bias = next.tensor_if((args.extras & kWithBias) != 0, 1, args.out);
  op.residual = next.tensor_if((args.extras & kWithResidual) != 0, args.rows, args.out);
  b.kernels->run(op, context.stream);
  if ((args.extras & kWithRope) == 0) return;
  const Tensor table = next.fp32(args.rows, b.dims.head_dim);
  b.kernels->run(kernels::Rope{op.out, table, b.dims.head_dim, kernels::Rotation::kForward},
                 context.stream);
}

void run_input_gradient(const Binding& b, const OpContext& context) {
  const auto args = args_of<LinearArgs>(context);
  Operands next(b, context);
  kernels::Matmul op;
  op.a = next.tensor(args.rows, args.out);
  op.b = next.tensor(args.out, args.in);
  op.out = next.tensor(args.rows, args.in);
  op.residual = next.tensor_if((args.extras & kWithResidual) != 0, args.rows, args.in);
  b.kernels->run(op, context.stream);
}

void run_weight_gradient(const Binding& b, const OpContext& context) {
  const auto args = args_of<LinearArgs>(context);
  Operands next(b, context);
  kernels::Matmul op;
  op.a = next.tensor(args.rows, args.out);
  op.a_layout = Layout::kTransposed;
  op.b = next.tensor(args.rows, args.in);
  op.out = next.fp32(args.out, args.in);
  op.accumulate = args.accumulate;
  b.kernels->run(op, context.stream);
}

void run_bias_gradient(const Binding& b, const OpContext& context) {
  const auto args = args_of<RowsArgs>(context);
  Operands next(b, context);
  const Tensor dy = next.tensor(args.rows, args.cols);
  b.kernels->run(kernels::BiasBackward{dy, next.fp32(1, args.cols)}, context.stream);
}

void run_norm(const Binding& b, const OpContext& context) {
  const auto args = args_of<NormArgs>(context);
  const std::int64_t rows = std::int64_t{args.tokens} * args.heads;
  Operands next(b, context);
  const Tensor x = next.tensor(rows, args.width);
  const Tensor weight = next.tensor(1, args.width);
  Tensor y = next.tensor(rows, args.width);
  b.kernels->run(kernels::RmsNormForward{x, weight, y, b.dims.rms_epsilon}, context.stream);
  if ((args.extras & kWithRope) == 0) return;
  const Tensor table = next.fp32(args.tokens, b.dims.head_dim);
  y.rows = args.tokens;
  y.cols = std::int64_t{args.heads} * args.width;
  b.kernels->run(kernels::Rope{y, table, b.dims.head_dim, kernels::Rotation::kForward},
                 context.stream);
}

void run_norm_gradient(const Binding& b, const OpContext& context) {
  const auto args = args_of<NormArgs>(context);
  const std::int64_t rows = std::int64_t{args.tokens} * args.heads;
  Operands next(b, context);
  kernels::RmsNormBackward op;
  op.x = next.tensor(rows, args.width);
  op.weight = next.tensor(1, args.width);
  op.dy = next.tensor(rows, args.width);
  op.dx = next.tensor(rows, args.width);
  op.dweight = next.fp32(1, args.width);
  op.residual = next.tensor_if((args.extras & kWithResidual) != 0, rows, args.width);
  op.epsilon = b.dims.rms_epsilon;
  b.kernels->run(op, context.stream);
}

namespace {

// Back through the head norm, in place in d.
void back_through_head_norm(const Binding& b, const NormArgs& args, Operands& next, Tensor d,
                            void* stream) {
  const std::int64_t rows = std::int64_t{args.tokens} * args.heads;
  d.rows = rows;
  d.cols = args.width;
  kernels::RmsNormBackward op;
  op.x = next.tensor(rows, args.width);
  op.weight = next.tensor(1, args.width);
  op.dweight = next.fp32(1, args.width);
  op.dy = d;
  op.dx = d;
  op.epsilon = b.dims.rms_epsilon;
  b.kernels->run(op, stream);
}

}  // namespace

void run_head_gradient(const Binding& b, const OpContext& context) {
  const auto args = args_of<NormArgs>(context);
  const std::int64_t width = std::int64_t{args.heads} * args.width;
  Operands next(b, context);
  Tensor d = next.fp32(args.tokens, width);
  if ((args.extras & kWithRope) != 0) {
    const Tensor table = next.fp32(args.tokens, args.width);
    b.kernels->run(kernels::Rope{d, table, args.width, kernels::Rotation::kBackward},
                   context.stream);
  }
  if (b.dims.dtype != DType::kF32) {
    const Tensor rounded = next.tensor(args.tokens, width);
    b.kernels->run(kernels::Cast{d, rounded}, context.stream);
    d = rounded;
  }
  if ((args.extras & kWithNorm) != 0) back_through_head_norm(b, args, next, d, context.stream);
}

void run_rope_table(const Binding& b, const OpContext& context) {
  const auto args = args_of<RopeTableArgs>(context);
  Operands next(b, context);
  b.kernels->run(kernels::RopeTable{next.fp32(args.rows, b.dims.head_dim), args.first_position,
                                    b.dims.rope_theta, b.dims.rope_scaling},
                 context.stream);
}

namespace {

// A rank's first query head need not be the first that reads its KV head.
kernels::KvGroup kv_group(const StepDims& dims) {
  const std::int64_t size = dims.heads / dims.kv_heads;
  return {size, dims.rank_heads.q.begin - dims.rank_heads.kv.begin * size};
}

}  // namespace

void run_attention(const Binding& b, const OpContext& context) {
  const auto args = args_of<PairArgs>(context);
  Operands next(b, context);
  kernels::AttentionForward op;
  op.q = next.tensor(args.q_rows, b.dims.rank_q_width());
  op.k = next.tensor(args.k_rows, b.dims.rank_kv_width());
  op.v = next.tensor(args.k_rows, b.dims.rank_kv_width());
  op.out = next.fp32(args.q_rows, b.dims.rank_q_width());
  op.lse = next.fp32(args.q_rows, b.dims.rank_heads.q.count);
  op.head_dim = b.dims.head_dim;
  op.kv_group = kv_group(b.dims);
  op.causality = args.causality;
  op.order = args.order;
  b.kernels->run(op, context.stream);
}

void run_attention_delta(const Binding& b, const OpContext& context) {
  const auto args = args_of<RowsArgs>(context);
  Operands next(b, context);
  kernels::AttentionDelta op;
  op.out = next.tensor(args.rows, b.dims.q_width());
  op.dout = next.tensor(args.rows, b.dims.q_width());
  op.delta = next.fp32(args.rows, b.dims.heads);
  op.head_dim = b.dims.head_dim;
  b.kernels->run(op, context.stream);
}

void run_attention_gradient(const Binding& b, const OpContext& context) {
  const auto args = args_of<PairArgs>(context);
  Operands next(b, context);
  kernels::AttentionBackward op;
  op.q = next.tensor(args.q_rows, b.dims.rank_q_width());
  op.k = next.tensor(args.k_rows, b.dims.rank_kv_width());
  op.v = next.tensor(args.k_rows, b.dims.rank_kv_width());
  op.dout = next.tensor(args.q_rows, b.dims.rank_q_width());
  op.lse = next.fp32(args.q_rows, b.dims.rank_heads.q.count);
  op.delta = next.fp32(args.q_rows, b.dims.rank_heads.q.count);
  op.dq = next.fp32(args.q_rows, b.dims.rank_q_width());
  op.dk = next.fp32(args.k_rows, b.dims.rank_kv_width());
  op.dv = next.fp32(args.k_rows, b.dims.rank_kv_width());
  op.head_dim = b.dims.head_dim;
  op.kv_group = kv_group(b.dims);
  op.causality = args.causality;
  op.dq_order = args.order;
  op.dkv_order = args.dkv_order;
  b.kernels->run(op, context.stream);
}

void run_round(const Binding& b, const OpContext& context) {
  const auto args = args_of<RowsArgs>(context);
  Operands next(b, context);
  const Tensor x = next.fp32(args.rows, args.cols);
  b.kernels->run(kernels::Cast{x, next.tensor(args.rows, args.cols)}, context.stream);
}

void run_swiglu(const Binding& b, const OpContext& context) {
  const auto args = args_of<RowsArgs>(context);
  Operands next(b, context);
  const Tensor gate = next.tensor(args.rows, args.cols);
  const Tensor up = next.tensor(args.rows, args.cols);
  b.kernels->run(kernels::SwigluForward{gate, up, next.tensor(args.rows, args.cols)},
                 context.stream);
}

void run_swiglu_gradient(const Binding& b, const OpContext& context) {
  const auto args = args_of<RowsArgs>(context);
  Operands next(b, context);
  kernels::SwigluBackward op;
  op.gate = next.tensor(args.rows, args.cols);
  op.up = next.tensor(args.rows, args.cols);
  op.dact = next.tensor(args.rows, args.cols);
  op.dgate = next.tensor(args.rows, args.cols);
  op.dup = next.tensor(args.rows, args.cols);
  b.kernels->run(op, context.stream);
}

void run_embedding(const Binding& b, const OpContext& context) {
  const auto args = args_of<RowsArgs>(context);
  Operands next(b, context);
  const auto* ids = next.next_as<const std::uint32_t>();
  const Tensor table = next.tensor(b.dims.vocab, b.dims.hidden);
  b.kernels->run(kernels::EmbeddingForward{ids, table, next.tensor(args.rows, b.dims.hidden)},
                 context.stream);
}

void run_embedding_gradient(const Binding& b, const OpContext& context) {
  const auto args = args_of<RowsArgs>(context);
  Operands next(b, context);
  const auto* ids = next.next_as<const std::uint32_t>();
  const Tensor dx = next.tensor(args.rows, b.dims.hidden);
  b.kernels->run(kernels::EmbeddingBackward{ids, dx, next.fp32(b.dims.vocab, b.dims.hidden)},
                 context.stream);
}

void run_zero(const Binding& b, const OpContext& context) {
  const auto args = args_of<BytesArgs>(context);
  b.kernels->run(kernels::Zero{context.operands[0], args.size_bytes}, context.stream);
}

void run_sum_of_squares(const Binding& b, const OpContext& context) {
  const auto args = args_of<BytesArgs>(context);
  Operands next(b, context);
  const auto* x = next.next_as<const float>();
  const auto count = static_cast<std::int64_t>(args.size_bytes / sizeof(float));
  b.kernels->run(kernels::SumOfSquares{x, count, next.next_as<double>()}, context.stream);
}

}  // namespace ebbtide::model
