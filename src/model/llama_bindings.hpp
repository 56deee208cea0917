// Joins the ops of a Llama step to the kernels: one function an op, which reads the op's arguments
// and turns its operands into a call of kernels::Kernels.
//
// Each function states its operands in order; [x] is there only when the arguments say so. t is the
// step's dtype. Stateless; safe to call from any lane whose kernels it gets.
#pragma once

#include "src/model/llama_dims.hpp"

namespace ebbtide::model {

struct Binding {
  StepDims dims;
  SharedKernels kernels;
};
using BindingFunction = void (*)(const Binding&, const OpContext&);

// Optional operands, or'ed.
enum Extra : std::uint8_t {
  kNoExtra = 0,
  kWithBias = 1,
  kWithResidual = 2,
  kWithRope = 4,
  kWithNorm = 8
};

// Of products with a weight W (out, in).
struct LinearArgs {
  std::int32_t rows = 0;
  std::int32_t in = 0;
  std::int32_t out = 0;
  std::uint8_t extras = kNoExtra;
  kernels::Accumulate accumulate = kernels::Accumulate::kOverwrite;
};
// Of norms over `width` columns: heads == 1 for the hidden norms.
struct NormArgs {
  std::int32_t tokens = 0;
  std::int32_t heads = 1;
  std::int32_t width = 0;
  std::uint8_t extras = kNoExtra;
};
struct PairArgs {
  std::int32_t q_rows = 0;
  std::int32_t k_rows = 0;
  kernels::Causality causality = kernels::Causality::kFull;
  kernels::PairOrder order = kernels::PairOrder::kLater;      // of out and lse, or of dq
  kernels::PairOrder dkv_order = kernels::PairOrder::kLater;  // backward only
};
struct RowsArgs {
  std::int32_t rows = 0;
  std::int32_t cols = 0;
};
struct RopeTableArgs {
  std::int64_t first_position = 0;
  std::int32_t rows = 0;
};
struct HeadArgs {
  std::int32_t rows = 0;
  enum class LossStart : std::uint8_t { kZero, kAdd } loss = LossStart::kAdd;
  kernels::Accumulate head_gradient = kernels::Accumulate::kAdd;
};
struct BytesArgs {
  std::uint64_t size_bytes = 0;
};
struct AdamWArgs {
  std::int64_t count = 0;
  enum class Decay : std::uint8_t { kNone, kDecay } decay = Decay::kNone;
};
struct NormOfGradientsArgs {
  std::int32_t parameters = 0;
};

// x W y [bias] [residual] [rope]: y (rows, out) t = x (rows, in) W^T [+ bias] [+ residual], then
// rotated.
void run_linear(const Binding&, const OpContext&);
// dy W dx [residual]: dx (rows, in) t = dy (rows, out) W [+ residual].
void run_input_gradient(const Binding&, const OpContext&);
// dy x dW: dW (out, in) fp32 = or += dy^T x.
void run_weight_gradient(const Binding&, const OpContext&);
// dy dbias: RowsArgs.
void run_bias_gradient(const Binding&, const OpContext&);
// x weight y [rope]: by head, then rotated.
void run_norm(const Binding&, const OpContext&);
// x weight dy dx dweight [residual].
void run_norm_gradient(const Binding&, const OpContext&);
// d [rope] [d_t] [x weight dweight], NormArgs: turns the summed fp32 gradient of rotated heads into
// that of the projection's output: rotates back in place, rounds to t (fp32 stays in d), and goes
// back through the head norm.
void run_head_gradient(const Binding&, const OpContext&);
// table
void run_rope_table(const Binding&, const OpContext&);
// q k v out lse
void run_attention(const Binding&, const OpContext&);
// out dout delta: RowsArgs.rows
void run_attention_delta(const Binding&, const OpContext&);
// q k v dout lse delta dq dk dv
void run_attention_gradient(const Binding&, const OpContext&);
// x (fp32) y (t)
void run_round(const Binding&, const OpContext&);
// gate up act
void run_swiglu(const Binding&, const OpContext&);
// gate up dact dgate dup
void run_swiglu_gradient(const Binding&, const OpContext&);
// ids table x
void run_embedding(const Binding&, const OpContext&);
// ids dx dtable
void run_embedding_gradient(const Binding&, const OpContext&);
// y W targets loss logits: the loss alone, tile by tile.
void run_head_loss(const Binding&, const OpContext&);
// y W targets loss logits dy dW [dlogits, for bf16]: loss and gradients, tile by tile.
void run_head_loss_gradient(const Binding&, const OpContext&);
// x
void run_zero(const Binding&, const OpContext&);
// x sum: BytesArgs of x.
void run_sum_of_squares(const Binding&, const OpContext&);
// scalars norm sums...: on the host.
void run_gradient_norm(const Binding&, const OpContext&);
// scalars norm gradient m v master [weight, for bf16]: on the host.
void run_adamw(const Binding&, const OpContext&);

}  // namespace ebbtide::model
