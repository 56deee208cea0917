// What is timed of the kernels: ops on operands of their own, with the work that they do.
//
// Letters as in kernels.hpp. The kernels and the operands must outlive the subjects.
#pragma once

#include <functional>
#include <string>

#include "kernels/kernels.hpp"
#include "src/measure/operands.hpp"

namespace ebbtide::measure {

struct Subject {
  double work = 0;  // of one run; flops, or bytes read and written
  std::function<void()> run;
};

struct LinearShape {
  std::int64_t tokens = 0;
  std::int64_t out = 0;
  std::int64_t in = 0;
  DType dtype = DType::kF32;

  double flops() const {
    return 2.0 * static_cast<double>(tokens) * static_cast<double>(out) * static_cast<double>(in);
  }
};
struct LinearOps {
  Subject forward;          // y = x W^T
  Subject input_gradient;   // dx = dy W
  Subject weight_gradient;  // dW += dy^T x, fp32
};
LinearOps linear(kernels::Kernels& kernels, Operands& operands, const LinearShape& shape);

// One pair of a query chunk and a key chunk; 8 query heads on 4 of keys and values.
struct AttentionShape {
  std::int64_t tokens = 0;  // C
  std::int64_t head_dim = 0;
  kernels::Causality causality = kernels::Causality::kFull;
  DType dtype = DType::kF32;

  double forward_flops() const;
};
struct AttentionOps {
  Subject forward;
  Subject backward;  // 2.5 times the flops: 5 products instead of 2
};
AttentionOps attention(kernels::Kernels& kernels, Operands& operands, const AttentionShape& shape);

// Bound by memory; work in bytes. On (rows, cols) of one dtype.
struct ElementwiseShape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  DType dtype = DType::kF32;

  double bytes() const {
    return static_cast<double>(rows) * static_cast<double>(cols) *
           static_cast<double>(dtype_bytes(dtype));
  }
};
Subject rms_norm(kernels::Kernels& kernels, Operands& operands, const ElementwiseShape& shape);
Subject swiglu(kernels::Kernels& kernels, Operands& operands, const ElementwiseShape& shape);
Subject add(kernels::Kernels& kernels, Operands& operands, const ElementwiseShape& shape);

// On `count` parameters; work in bytes: 28 a parameter with fp32 weights, 2 more with bf16 ones.
Subject adamw(kernels::Kernels& kernels, Operands& operands, std::int64_t count,
              DType weight_dtype);

// a = b + s c in fp32 (McCalpin's STREAM), each thread its own stretch; work in bytes, what a cache
// reads before it writes not counted.
Subject triad(Operands& operands, std::int64_t count, int threads);

}  // namespace ebbtide::measure
