#include "src/measure/operands.hpp"

#include <cstring>

namespace ebbtide::measure {
namespace {

void fill(std::byte* memory, std::size_t count, DType dtype) {
  for (std::size_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(i * 2654435761U % 1024) / 1024.0F - 0.5F;
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    if (dtype == DType::kF32) {
      std::memcpy(memory + 4 * i, &bits, 4);
    } else {
      const auto upper = static_cast<std::uint16_t>(bits >> 16);
      std::memcpy(memory + 2 * i, &upper, 2);
    }
  }
}

}  // namespace

kernels::Tensor Operands::make(std::int64_t rows, std::int64_t cols, DType dtype) {
  const auto count = static_cast<std::size_t>(rows * cols);
  memory_.emplace_back(
      tiers::HostArenaOptions{.size_bytes = count * dtype_bytes(dtype), .name = "operand"});
  std::byte* const data = memory_.back().bytes().data();
  fill(data, count, dtype);
  return {data, dtype, rows, cols};
}

}  // namespace ebbtide::measure
