// exp and its kin in fp32, in a form that the compiler vectorises.
#pragma once

#include <bit>
#include <cstdint>

namespace ebbtide::kernels::cpu {

// Relative error below 2e-7 where the result is a normal number; 0 below about -87.3, exp(88)
// above 88; a NaN stays one. Cody and Waite's reduction x = n ln 2 + r, |r| <= ln 2 / 2, and the
// Taylor polynomial of degree 7, whose remainder there is below 6e-9.
inline float exponential(float x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;  // few bits, so that n times it is exact
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const float bounded = x > 88.0F ? 88.0F : (x < -87.3F ? -87.3F : x);
  const float shifted = bounded * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (bounded - n * kLn2High) - n * kLn2Low;
  float p = 1.0F / 5040;
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3f800000U;
  const float result = p * std::bit_cast<float>(exponent);
  return x < -87.3F ? 0.0F : result;
}

inline float sigmoid(float x) {
  return 1.0F / (1.0F + exponential(-x));
}

}  // namespace ebbtide::kernels::cpu
