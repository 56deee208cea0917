// Every op of kernels.hpp in double precision, by plain loops: what kernels are compared with.
// Letters and formulas as in kernels.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernels.hpp"

namespace ebbtide::kernels::reference {

struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<double> at;  // row-major

  Matrix() = default;
  Matrix(std::int64_t rows_, std::int64_t cols_, double fill = 0)
      : rows(rows_), cols(cols_), at(static_cast<std::size_t>(rows_ * cols_), fill) {}
  double& operator()(std::int64_t r, std::int64_t c) {
    return at[static_cast<std::size_t>(r * cols + c)];
  }
  double operator()(std::int64_t r, std::int64_t c) const {
    return at[static_cast<std::size_t>(r * cols + c)];
  }
};

Matrix transposed(const Matrix& a);
Matrix plus(const Matrix& a, const Matrix& b);
Matrix matmul(const Matrix& a, const Matrix& b);
// The sum over rows, (1, N).
Matrix column_sums(const Matrix& a);

Matrix rms_norm(const Matrix& x, const Matrix& weight, double epsilon);
struct RmsNormGradients {
  Matrix dx;
  Matrix dweight;
};
RmsNormGradients rms_norm_backward(const Matrix& x, const Matrix& weight, const Matrix& dy,
                                   double epsilon);

Matrix rope_table(std::int64_t rows, std::int64_t dim, std::int64_t first_position, double theta,
                  const RopeScaling& scaling);
Matrix rope(const Matrix& x, const Matrix& table, Rotation rotation);

struct AttentionState {
  Matrix out;
  Matrix lse;
};
struct AttentionShape {
  std::int64_t dim = 0;
  Causality causality = Causality::kFull;
};
// The pair alone.
AttentionState attention(const Matrix& q, const Matrix& k, const Matrix& v, AttentionShape shape);
// Two sets of keys as one.
AttentionState merged(const AttentionState& a, const AttentionState& b, std::int64_t dim);
Matrix attention_delta(const Matrix& out, const Matrix& dout, std::int64_t dim);
struct AttentionGradients {
  Matrix dq;
  Matrix dk;
  Matrix dv;
};
struct AttentionInputs {
  Matrix q;
  Matrix k;
  Matrix v;
  Matrix dout;
  Matrix lse;
  Matrix delta;
};
AttentionGradients attention_backward(const AttentionInputs& in, AttentionShape shape);

Matrix swiglu(const Matrix& gate, const Matrix& up);
struct SwigluGradients {
  Matrix dgate;
  Matrix dup;
};
SwigluGradients swiglu_backward(const Matrix& gate, const Matrix& up, const Matrix& dact);

Matrix embedding(const std::vector<std::uint32_t>& ids, const Matrix& table);
Matrix embedding_backward(const std::vector<std::uint32_t>& ids, const Matrix& dx,
                          std::int64_t vocabulary);

struct CrossEntropyResult {
  double loss = 0;
  Matrix dlogits;
};
CrossEntropyResult cross_entropy(const Matrix& logits, const std::vector<std::uint32_t>& targets,
                                 double scale);

struct AdamWState {
  Matrix master;
  Matrix m;
  Matrix v;
};
AdamWState adamw(const AdamWState& before, const Matrix& gradient, const AdamW& settings);

}  // namespace ebbtide::kernels::reference
