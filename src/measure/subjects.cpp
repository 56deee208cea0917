#include "src/measure/subjects.hpp"

#include <algorithm>
#include <thread>
#include <vector>

namespace ebbtide::measure {

using kernels::Accumulate;
using kernels::Causality;
using kernels::Kernels;
using kernels::Layout;
using kernels::PairOrder;
using kernels::Tensor;

namespace {

constexpr std::int64_t kHeads = 8;
constexpr std::int64_t kKvHeads = 4;

template <typename KernelOp>
Subject subject(Kernels& kernels, double work, const KernelOp& op) {
  return {work, [&kernels, op] { kernels.run(op, nullptr); }};
}

// Not inlined into the thread's lambda, so that the pointers' promise not to overlap holds.
void triad_part(float* __restrict a, const float* __restrict b, const float* __restrict c,
                std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) a[i] = b[i] + 0.5F * c[i];
}

}  // namespace

LinearOps linear(Kernels& kernels, Operands& operands, const LinearShape& shape) {
  const Tensor x = operands.make(shape.tokens, shape.in, shape.dtype);
  const Tensor w = operands.make(shape.out, shape.in, shape.dtype);
  const Tensor y = operands.make(shape.tokens, shape.out, shape.dtype);
  const Tensor dw = operands.make(shape.out, shape.in, DType::kF32);
  const auto product = [&](const kernels::Matmul& op) {
    return subject(kernels, shape.flops(), op);
  };
  return {product({.a = x, .b = w, .b_layout = Layout::kTransposed, .out = y}),
          product({.a = y, .b = w, .out = x}),
          product({.a = y,
                   .a_layout = Layout::kTransposed,
                   .b = x,
                   .out = dw,
                   .accumulate = Accumulate::kAdd})};
}

double AttentionShape::forward_flops() const {
  const auto n = static_cast<double>(tokens);
  const double pairs = causality == Causality::kFull ? n * n : n * (n + 1) / 2;
  return 4.0 * pairs * static_cast<double>(kHeads * head_dim);
}

AttentionOps attention(Kernels& kernels, Operands& operands, const AttentionShape& shape) {
  const std::int64_t dim = shape.head_dim;
  const auto make = [&](std::int64_t cols, DType type) {
    return operands.make(shape.tokens, cols, type);
  };
  const kernels::AttentionForward forward{.q = make(kHeads * dim, shape.dtype),
                                          .k = make(kKvHeads * dim, shape.dtype),
                                          .v = make(kKvHeads * dim, shape.dtype),
                                          .out = make(kHeads * dim, DType::kF32),
                                          .lse = make(kHeads, DType::kF32),
                                          .head_dim = dim,
                                          .causality = shape.causality,
                                          .order = PairOrder::kFirst};
  kernels.run(forward, nullptr);  // backward needs its log-sum-exp
  const kernels::AttentionBackward backward{.q = forward.q,
                                            .k = forward.k,
                                            .v = forward.v,
                                            .dout = make(kHeads * dim, shape.dtype),
                                            .lse = forward.lse,
                                            .delta = make(kHeads, DType::kF32),
                                            .dq = make(kHeads * dim, DType::kF32),
                                            .dk = make(kKvHeads * dim, DType::kF32),
                                            .dv = make(kKvHeads * dim, DType::kF32),
                                            .head_dim = dim,
                                            .causality = shape.causality};
  return {subject(kernels, shape.forward_flops(), forward),
          subject(kernels, 2.5 * shape.forward_flops(), backward)};
}

Subject rms_norm(Kernels& kernels, Operands& operands, const ElementwiseShape& shape) {
  const Tensor x = operands.make(shape.rows, shape.cols, shape.dtype);
  const Tensor weight = operands.make(1, shape.cols, shape.dtype);
  const Tensor y = operands.make(shape.rows, shape.cols, shape.dtype);
  return subject(kernels, 2 * shape.bytes(),
                 kernels::RmsNormForward{.x = x, .weight = weight, .y = y});
}

Subject swiglu(Kernels& kernels, Operands& operands, const ElementwiseShape& shape) {
  const Tensor gate = operands.make(shape.rows, shape.cols, shape.dtype);
  const Tensor up = operands.make(shape.rows, shape.cols, shape.dtype);
  const Tensor act = operands.make(shape.rows, shape.cols, shape.dtype);
  return subject(kernels, 3 * shape.bytes(),
                 kernels::SwigluForward{.gate = gate, .up = up, .act = act});
}

Subject add(Kernels& kernels, Operands& operands, const ElementwiseShape& shape) {
  const Tensor a = operands.make(shape.rows, shape.cols, shape.dtype);
  const Tensor b = operands.make(shape.rows, shape.cols, shape.dtype);
  const Tensor y = operands.make(shape.rows, shape.cols, shape.dtype);
  return subject(kernels, 3 * shape.bytes(), kernels::Add{.a = a, .b = b, .y = y});
}

Subject adamw(Kernels& kernels, Operands& operands, std::int64_t count, DType weight_dtype) {
  kernels::AdamW op{.master = operands.make_floats(count),
                    .m = operands.make_floats(count),
                    .v = operands.make_floats(count),
                    .gradient = operands.make_floats(count),
                    .weight_dtype = weight_dtype,
                    .count = count,
                    .step = 3,
                    .learning_rate = 1e-3F};
  std::fill_n(op.v, count, 0.25F);
  op.weight = op.master;
  double bytes = 28;
  if (weight_dtype != DType::kF32) {
    op.weight = operands.make(1, count, weight_dtype).data;
    bytes += static_cast<double>(dtype_bytes(weight_dtype));
  }
  return subject(kernels, bytes * static_cast<double>(count), op);
}

Subject triad(Operands& operands, std::int64_t count, int threads) {
  const float* const b = operands.make_floats(count);
  const float* const c = operands.make_floats(count);
  float* const a = operands.make_floats(count);
  const auto part = [=](int thread) {
    const std::int64_t begin = count * thread / threads;
    triad_part(a + begin, b + begin, c + begin, count * (thread + 1) / threads - begin);
  };
  return {12.0 * static_cast<double>(count), [part, threads] {
            std::vector<std::jthread> others;
            for (int thread = 1; thread < threads; ++thread) others.emplace_back(part, thread);
            part(0);
          }};
}

}  // namespace ebbtide::measure
