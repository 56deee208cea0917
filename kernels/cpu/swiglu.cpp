// act = silu(gate) * up with silu(g) = g s, s = sigmoid(g).
// Backward: dup = dact g s; dgate = dact up s (1 + g (1 - s)).
#include "kernels/cpu/elementwise.hpp"
#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/ops.hpp"

namespace ebbtide::kernels::cpu {
namespace {

constexpr std::int64_t kBlock = 16384;  // elements

template <typename T>
void forward_block(const T* gate, const T* up, T* act, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = to_float(gate[i]);
    act[i] = from_float<T>(g * sigmoid(g) * to_float(up[i]));
  }
}

template <typename T>
void backward_block(const T* gate, const T* up, const T* dact, T* dgate, T* dup,
                    std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = to_float(gate[i]);
    const float d = to_float(dact[i]);
    const float s = sigmoid(g);
    const float u = to_float(up[i]);
    dup[i] = from_float<T>(d * (g * s));
    dgate[i] = from_float<T>(d * u * (s * (1.0F + g * (1.0F - s))));
  }
}

}  // namespace

void run(const SwigluForward& op, Team& team) {
  check_same_shape(op.up, op.gate);
  check_same_shape(op.act, op.gate);
  with_element(op.gate.dtype, [&](auto element) {
    using T = decltype(element);
    for_each_stretch(team, op.gate, kBlock, [&](std::int64_t at, std::int64_t count) {
      forward_block(data<T>(op.gate) + at, data<T>(op.up) + at, data<T>(op.act) + at, count);
    });
  });
}

void run(const SwigluBackward& op, Team& team) {
  for (const ConstTensor& t : {op.up, op.dact}) check_same_shape(t, op.gate);
  check_same_shape(op.dgate, op.gate);
  check_same_shape(op.dup, op.gate);
  with_element(op.gate.dtype, [&](auto element) {
    using T = decltype(element);
    for_each_stretch(team, op.gate, kBlock, [&](std::int64_t at, std::int64_t count) {
      backward_block(data<T>(op.gate) + at, data<T>(op.up) + at, data<T>(op.dact) + at,
                     data<T>(op.dgate) + at, data<T>(op.dup) + at, count);
    });
  });
}

}  // namespace ebbtide::kernels::cpu
