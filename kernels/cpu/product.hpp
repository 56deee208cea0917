// Single-threaded fp32 matrix products on tiles, by oneDNN.
#pragma once

#include <cstdint>

#include "kernels/kernels.hpp"

namespace ebbtide::kernels::cpu {

// c (m, n) = alpha * op(a) (m, k) . op(b) (k, n), or c += ...; leading dimensions in elements.
struct Product {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const float* a = nullptr;
  std::int64_t lda = 0;
  Layout a_layout = Layout::kAsStored;
  const float* b = nullptr;
  std::int64_t ldb = 0;
  Layout b_layout = Layout::kAsStored;
  float* c = nullptr;
  std::int64_t ldc = 0;
  Accumulate accumulate = Accumulate::kOverwrite;
  float alpha = 1;
};
// Throws Error when oneDNN refuses it.
void multiply(const Product& product);

}  // namespace ebbtide::kernels::cpu
