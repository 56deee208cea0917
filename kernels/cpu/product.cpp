#include "kernels/cpu/product.hpp"

#include <dnnl.h>

#include <algorithm>
#include <string>

#include "ebbtide/error.hpp"

namespace ebbtide::kernels::cpu {
namespace {

void fill_zero(const Product& p) {
  if (p.accumulate == Accumulate::kAdd) return;
  for (std::int64_t i = 0; i < p.m; ++i) std::fill_n(p.c + i * p.ldc, p.n, 0.0F);
}

}  // namespace

void multiply(const Product& p) {
  if (p.k == 0) return fill_zero(p);
  const auto letter = [](Layout layout) { return layout == Layout::kTransposed ? 'T' : 'N'; };
  const float beta = p.accumulate == Accumulate::kAdd ? 1.0F : 0.0F;
  const dnnl_status_t status = dnnl_sgemm(letter(p.a_layout), letter(p.b_layout), p.m, p.n, p.k,
                                          p.alpha, p.a, p.lda, p.b, p.ldb, beta, p.c, p.ldc);
  EBBTIDE_CHECK(status == dnnl_success, "oneDNN status " + std::to_string(status));
}

}  // namespace ebbtide::kernels::cpu
