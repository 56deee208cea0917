// The fused, tiled cross-entropy: the logits of one tile of tokens live at a time.
#include "src/model/llama_operands.hpp"

namespace ebbtide::model {
namespace {

using kernels::Layout;
using kernels::Tensor;

struct HeadOperands {
  Tensor y;                                // (rows, H)
  Tensor weight;                           // (V, H)
  const std::uint32_t* targets = nullptr;  // (rows)
  double* loss = nullptr;
  Tensor logits;  // (tile, V) fp32
};

HeadOperands take(const Binding& b, const HeadArgs& args, Operands& next) {
  HeadOperands head;
  head.y = next.tensor(args.rows, b.dims.hidden);
  head.weight = next.tensor(b.dims.vocab, b.dims.hidden);
  head.targets = next.next_as<const std::uint32_t>();
  head.loss = next.next_as<double>();
  head.logits = next.fp32(b.dims.loss_tile_tokens, b.dims.vocab);
  return head;
}

void start_loss(const Binding& b, const HeadArgs& args, double* loss, void* stream) {
  if (args.loss == HeadArgs::LossStart::kZero)
    b.kernels->run(kernels::Zero{loss, sizeof(double)}, stream);
}

void make_logits(const Binding& b, const Tensor& y, const Tensor& weight, const Tensor& logits,
                 void* stream) {
  kernels::Matmul op;
  op.a = y;
  op.b = weight;
  op.b_layout = Layout::kTransposed;
  op.out = logits;
  b.kernels->run(op, stream);
}

}  // namespace

void run_head_loss(const Binding& b, const OpContext& context) {
  const auto args = args_of<HeadArgs>(context);
  Operands next(b, context);
  const HeadOperands head = take(b, args, next);
  start_loss(b, args, head.loss, context.stream);
  for (std::int64_t at = 0; at < args.rows; at += b.dims.loss_tile_tokens) {
    const std::int64_t rows = std::min(b.dims.loss_tile_tokens, args.rows - at);
    const Tensor logits = slice(head.logits, 0, rows);
    make_logits(b, slice(head.y, at, rows), head.weight, logits, context.stream);
    b.kernels->run(kernels::CrossEntropy{logits, logits, head.targets + at, head.loss, 1.0F},
                   context.stream);
  }
}

void run_head_loss_gradient(const Binding& b, const OpContext& context) {
  const auto args = args_of<HeadArgs>(context);
  Operands next(b, context);
  const HeadOperands head = take(b, args, next);
  const Tensor dy = next.tensor(args.rows, b.dims.hidden);
  const Tensor dweight = next.fp32(b.dims.vocab, b.dims.hidden);
  const Tensor dlogits_tile = b.dims.dtype == DType::kF32
                                  ? head.logits
                                  : next.tensor(b.dims.loss_tile_tokens, b.dims.vocab);
  start_loss(b, args, head.loss, context.stream);
  kernels::Accumulate accumulate = args.head_gradient;
  for (std::int64_t at = 0; at < args.rows; at += b.dims.loss_tile_tokens) {
    const std::int64_t rows = std::min(b.dims.loss_tile_tokens, args.rows - at);
    const Tensor y = slice(head.y, at, rows);
    const Tensor logits = slice(head.logits, 0, rows);
    const Tensor dlogits = slice(dlogits_tile, 0, rows);
    make_logits(b, y, head.weight, logits, context.stream);
    b.kernels->run(kernels::CrossEntropy{logits, dlogits, head.targets + at, head.loss, 1.0F},
                   context.stream);
    kernels::Matmul to_y;
    to_y.a = dlogits;
    to_y.b = head.weight;
    to_y.out = slice(dy, at, rows);
    b.kernels->run(to_y, context.stream);
    kernels::Matmul to_weight;
    to_weight.a = dlogits;
    to_weight.a_layout = Layout::kTransposed;
    to_weight.b = y;
    to_weight.out = dweight;
    to_weight.accumulate = accumulate;
    b.kernels->run(to_weight, context.stream);
    accumulate = kernels::Accumulate::kAdd;
  }
}

}  // namespace ebbtide::model
