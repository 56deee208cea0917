// An op's operands, taken one after the other, as tensors. For the bindings.
#pragma once

#include <cstring>

#include "src/model/llama_bindings.hpp"

namespace ebbtide::model {

class Operands {
 public:
  Operands(const Binding& binding, const OpContext& context)
      : context_(context), dtype_(binding.dims.dtype) {}

  void* next() { return context_.operands[taken_++]; }
  template <typename T>
  T* next_as() {
    return reinterpret_cast<T*>(next());
  }
  // Of the step's dtype.
  kernels::Tensor tensor(std::int64_t rows, std::int64_t cols) {
    return {next(), dtype_, rows, cols};
  }
  kernels::Tensor fp32(std::int64_t rows, std::int64_t cols) {
    return {next(), DType::kF32, rows, cols};
  }
  kernels::ConstTensor tensor_if(bool present, std::int64_t rows, std::int64_t cols) {
    return present ? kernels::ConstTensor(tensor(rows, cols)) : kernels::ConstTensor();
  }

 private:
  const OpContext& context_;
  std::size_t taken_ = 0;
  DType dtype_;
};

template <typename Args>
Args args_of(const OpContext& context) {
  Args args;
  std::memcpy(&args, context.args.data(), sizeof(Args));
  return args;
}

// Rows [begin, begin + rows) of a tensor.
inline kernels::Tensor slice(const kernels::Tensor& t, std::int64_t begin, std::int64_t rows) {
  auto* data = static_cast<std::byte*>(t.data);
  const auto row_bytes = static_cast<std::int64_t>(dtype_bytes(t.dtype)) * t.cols;
  return {data + begin * row_bytes, t.dtype, rows, t.cols};
}

}  // namespace ebbtide::model
