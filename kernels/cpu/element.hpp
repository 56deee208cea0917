// Elements of tensors as floats: bf16 conversion, typed access, the call by dtype.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "ebbtide/error.hpp"
#include "kernels/kernels.hpp"

namespace ebbtide::kernels::cpu {

struct Bf16 {
  std::uint16_t bits;
};
static_assert(sizeof(Bf16) == 2);

inline float to_float(float x) {
  return x;
}
inline float to_float(Bf16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

template <typename T>
T from_float(float x);
template <>
inline float from_float<float>(float x) {
  return x;
}
// Round to nearest, ties to even; a NaN stays one.
template <>
inline Bf16 from_float<Bf16>(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40U;
  return {static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded)};
}

template <typename T>
T* data(const Tensor& t) {
  return static_cast<T*>(t.data);
}
template <typename T>
const T* data(const ConstTensor& t) {
  return static_cast<const T*>(t.data);
}

inline std::string describe(const ConstTensor& t) {
  return std::to_string(t.rows) + " x " + std::to_string(t.cols) + " " + std::string(name(t.dtype));
}

inline void check_shape(const ConstTensor& t, std::int64_t rows, std::int64_t cols, DType dtype) {
  EBBTIDE_CHECK(
      t.rows == rows && t.cols == cols && t.dtype == dtype,
      "tensor is " + describe(t) + ", needed " + describe(ConstTensor(nullptr, dtype, rows, cols)));
}
inline void check_same_shape(const ConstTensor& t, const ConstTensor& like) {
  check_shape(t, like.rows, like.cols, like.dtype);
}

// Calls body(T{}) with the element type of fp32 or bf16.
template <typename Body>
void with_element(DType dtype, Body&& body) {
  EBBTIDE_CHECK(dtype == DType::kF32 || dtype == DType::kBf16, std::string(name(dtype)));
  dtype == DType::kF32 ? body(float{}) : body(Bf16{});
}

constexpr std::int64_t block_count(std::int64_t count, std::int64_t block) {
  return (count + block - 1) / block;
}

// [begin, end) of one block.
struct Range {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t size() const { return end - begin; }
};
constexpr Range block_range(std::int64_t index, std::int64_t block, std::int64_t count) {
  const std::int64_t begin = index * block;
  return {begin, begin + block < count ? begin + block : count};
}

}  // namespace ebbtide::kernels::cpu
