// Products of oneDNN's matmul primitive with fp32 sums, for the dtypes that it multiplies near the
// CPU's peak in memory that we plan: fp32 from AVX-512 on (before, it packs in memory of its own),
// bf16 with AMX and on AMD's CPUs that have it. On Intel's without AMX, bf16 runs at half the rate
// of fp32 (86 against 163 GFLOP/s a core of family 6 model 207), and oneDNN refuses it on older
// CPUs.
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
  DType dtype = DType::kF32;  // of a and b
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
  NativeProducts();
  ~NativeProducts();

  // Uses `scratch` as oneDNN's scratchpad. Runs on the calling thread's OpenMP threads. Throws
  // ContractViolation when oneDNN refuses the product or the scratchpad is too small.
  void multiply(const NativeProduct& product, std::span<std::byte> scratch);

  // Whether oneDNN multiplies this dtype on this CPU at all, and near the peak as said above.
  static bool has(DType dtype);
  static bool is_fast(DType dtype);

 private:
  struct Cache;
  std::unique_ptr<Cache> cache_;
};

}  // namespace ebbtide::kernels::cpu
