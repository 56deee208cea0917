// Products of oneDNN's own primitives, for dtypes that this CPU multiplies natively: bf16 with
// fp32 sums, on AVX-512 BF16 and AMX. oneDNN refuses bf16 on older CPUs.
//
// Thread-safe. A primitive is made at the first use of its shape and kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/kernels.hpp"

namespace ebbtide::kernels::cpu {

// c (m, n) fp32 = op(a) (m, k) . op(b) (k, n), or c += ...; leading dimensions in elements.
struct NativeProduct {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const void* a = nullptr;
  std::int64_t lda = 0;
  Layout a_layout = Layout::kAsStored;
  const void* b = nullptr;
  std::int64_t ldb = 0;
  Layout b_layout = Layout::kAsStored;
  float* c = nullptr;
  std::int64_t ldc = 0;
  Accumulate accumulate = Accumulate::kOverwrite;
};

class NativeProducts {
 public:
  // Of operands of `dtype`, fp32 or bf16.
  explicit NativeProducts(DType dtype);
  ~NativeProducts();

  // Uses `scratch` as oneDNN's scratchpad. Runs on the calling thread's OpenMP threads. Throws
  // ContractViolation when oneDNN refuses the product or the scratchpad is too small.
  void multiply(const NativeProduct& product, std::span<std::byte> scratch);

  // Whether this CPU has instructions for products in bf16.
  static bool has_bf16();

 private:
  struct Cache;
  std::unique_ptr<Cache> cache_;
};

}  // namespace ebbtide::kernels::cpu
