#include "kernels/cpu/native_product.hpp"

#include <gtest/gtest.h>

#include "ebbtide/error.hpp"
#include "kernels/cpu/one_thread.hpp"
#include "tests/kernels/operands.hpp"

namespace ebbtide::kernels::cpu {
namespace {

Matrix stored(const Matrix& a, Layout layout) {
  return layout == Layout::kAsStored ? a : reference::transposed(a);
}

void check_product(NativeProducts& products, DType dtype, Layout a_layout, Layout b_layout,
                   Accumulate accumulate) {
  Random random(1);
  const Matrix a = random.matrix(70, 130, dtype);
  const Matrix b = random.matrix(130, 90, dtype);
  const Matrix before = random.matrix(70, 90, DType::kF32);
  Operand a_operand(stored(a, a_layout), dtype);
  Operand b_operand(stored(b, b_layout), dtype);
  const bool add = accumulate == Accumulate::kAdd;
  Operand c = add ? Operand(before, DType::kF32) : Operand(70, 90, DType::kF32);
  std::vector<std::byte> scratch(std::size_t{4} << 20);
  const OneThread one_thread;
  products.multiply({.dtype = dtype,
                     .m = 70,
                     .n = 90,
                     .k = 130,
                     .a = a_operand.tensor().data,
                     .lda = a_operand.tensor().cols,
                     .a_layout = a_layout,
                     .b = b_operand.tensor().data,
                     .ldb = b_operand.tensor().cols,
                     .b_layout = b_layout,
                     .c = c.as<float>(),
                     .ldc = 90,
                     .accumulate = accumulate},
                    scratch);
  const Matrix product = reference::matmul(a, b);
  const Matrix expected = add ? reference::plus(product, before) : product;
  expect_near(c, expected, tolerance(expected, DType::kF32), std::string(name(dtype)));
  EXPECT_TRUE(c.guards_untouched());
}

void check_layouts(DType dtype) {
  NativeProducts products;
  for (const Layout a_layout : {Layout::kAsStored, Layout::kTransposed}) {
    for (const Layout b_layout : {Layout::kAsStored, Layout::kTransposed}) {
      for (const Accumulate accumulate : {Accumulate::kOverwrite, Accumulate::kAdd}) {
        check_product(products, dtype, a_layout, b_layout, accumulate);
        check_product(products, dtype, a_layout, b_layout, accumulate);  // from the cache
      }
    }
  }
}

TEST(NativeProducts, AgreeWithTheReferenceInFp32) {
  check_layouts(DType::kF32);
}

TEST(NativeProducts, AgreeWithTheReferenceInBf16) {
  if (!NativeProducts::has(DType::kBf16)) GTEST_SKIP() << "this CPU has no products in bf16";
  check_layouts(DType::kBf16);
}

TEST(NativeProducts, SayWhatOneDnnRefused) {
  if (NativeProducts::has(DType::kBf16)) GTEST_SKIP() << "this CPU has products in bf16";
  NativeProducts products;
  EXPECT_THROW(
      check_product(products, DType::kBf16, Layout::kAsStored, Layout::kAsStored, Accumulate::kAdd),
      ContractViolation);
}

}  // namespace
}  // namespace ebbtide::kernels::cpu
