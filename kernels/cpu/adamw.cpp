// AdamW (Loshchilov and Hutter 2019, alg. 2), in PyTorch's order of operations:
//   p *= 1 - lr wd;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
//   p -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + epsilon)
// Reads 16 bytes and writes 12 an element, and the weight: bound by memory.
#include <cmath>
#include <string>

#include "kernels/cpu/element.hpp"
#include "kernels/cpu/ops.hpp"

namespace ebbtide::kernels::cpu {
namespace {

constexpr std::int64_t kBlock = 16384;  // elements

struct Factors {
  float decay;
  float beta1;
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float step_size;
  float inverse_sqrt_bias2;
  float epsilon;
  float gradient_scale;
};

Factors factors(const AdamW& op) {
  const auto step = static_cast<double>(op.step);
  const auto beta1 = static_cast<double>(op.beta1);
  const auto beta2 = static_cast<double>(op.beta2);
  const auto rate = static_cast<double>(op.learning_rate);
  const double bias1 = 1 - std::pow(beta1, step);
  const double bias2 = 1 - std::pow(beta2, step);
  return {.decay = static_cast<float>(1 - rate * static_cast<double>(op.weight_decay)),
          .beta1 = op.beta1,
          .one_minus_beta1 = static_cast<float>(1 - beta1),
          .beta2 = op.beta2,
          .one_minus_beta2 = static_cast<float>(1 - beta2),
          .step_size = static_cast<float>(rate / bias1),
          .inverse_sqrt_bias2 = static_cast<float>(1 / std::sqrt(bias2)),
          .epsilon = op.epsilon,
          .gradient_scale = op.gradient_scale};
}

// The new master; m and v are updated in place.
inline float updated(float master, float& m, float& v, float gradient, const Factors& f) {
  const float g = gradient * f.gradient_scale;
  m = f.beta1 * m + f.one_minus_beta1 * g;
  v = f.beta2 * v + f.one_minus_beta2 * (g * g);
  const float denominator = std::sqrt(v) * f.inverse_sqrt_bias2 + f.epsilon;
  return master * f.decay - f.step_size * (m / denominator);
}

template <typename T>
void update_block(const AdamW& op, const Factors& f, Range range) {
  float* master = op.master;
  float* m = op.m;
  float* v = op.v;
  const float* gradient = op.gradient;
  T* weight = static_cast<T*>(op.weight);
#pragma omp simd
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    master[i] = updated(master[i], m[i], v[i], gradient[i], f);
    weight[i] = from_float<T>(master[i]);
  }
}

}  // namespace

void run(const AdamW& op, Team& team) {
  EBBTIDE_CHECK(op.step >= 1, "step " + std::to_string(op.step));
  const Factors f = factors(op);
  with_element(op.weight_dtype, [&](auto element) {
    team.for_each_block(block_count(op.count, kBlock), [&](std::int64_t i, int) {
      update_block<decltype(element)>(op, f, block_range(i, kBlock, op.count));
    });
  });
}

}  // namespace ebbtide::kernels::cpu
