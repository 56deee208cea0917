// Operands for tests of kernels: guarded buffers, seeded random content, comparison.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.hpp"
#include "tests/kernels/reference.hpp"

namespace ebbtide::kernels {

using reference::Matrix;

// Storage of one tensor between guards. New content is 0xFF bytes, a NaN in every dtype, so that
// what a kernel did not write shows.
class Operand {
 public:
  Operand(std::int64_t rows, std::int64_t cols, DType dtype);
  // Content rounded to the dtype.
  Operand(const Matrix& content, DType dtype);

  Tensor tensor();
  operator Tensor() { return tensor(); }       // NOLINT: an operand is its tensor
  operator ConstTensor() { return tensor(); }  // NOLINT
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(bytes_.data() + kGuard);
  }
  Matrix read() const;
  bool guards_untouched() const;
  std::vector<std::byte> content() const;

 private:
  static constexpr std::size_t kGuard = 256;

  std::int64_t rows_;
  std::int64_t cols_;
  DType dtype_;
  std::vector<std::byte> bytes_;
};

// Seeded sizes and content.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high);  // both included
  std::int64_t one_of(std::initializer_list<std::int64_t> choices);
  // Uniform over [-scale, scale], rounded to the dtype.
  Matrix matrix(std::int64_t rows, std::int64_t cols, DType dtype, double scale = 1);
  std::vector<std::uint32_t> ids(std::int64_t count, std::int64_t below);

 private:
  std::mt19937_64 engine_;
};

Matrix rounded(const Matrix& a, DType dtype);

// What an output may be off: |a - b| <= relative |b| + absolute.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};
// Sums of products in fp32, relative to the largest value of the result; a result stored in bf16 is
// also off by half a unit in the last place, 2^-8.
Tolerance tolerance(const Matrix& expected, DType stored, double fp32_error = 1e-5);
void expect_near(const Operand& actual, const Matrix& expected, Tolerance tolerance,
                 const std::string& what);

inline constexpr std::array kDTypes{DType::kF32, DType::kBf16};

// What one run of an op left behind.
struct Outputs {
  std::vector<std::pair<std::string, std::vector<std::byte>>> contents;

  // Expects untouched guards, and keeps the content.
  void add(const std::string& what, const Operand& operand);
  void add(const std::string& what, double value);
};
// Runs the case on teams of 1 to 4 threads and expects the same bytes of each.
void expect_same_on_all_teams(const std::function<Outputs(Kernels&)>& run,
                              Products products = Products::kFastest);

}  // namespace ebbtide::kernels
