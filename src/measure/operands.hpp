// Memory that kernels are timed on: of the kind that the arenas have, filled with small values, so
// that no product meets a denormal or a NaN. Every tensor's memory is its own.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernels.hpp"
#include "tiering/tiers/host_arena.hpp"

namespace ebbtide::measure {

class Operands {
 public:
  // Values from -0.5 to 0.5. Valid while this lives. Blocks until every page is resident; throws
  // Error(kDoesNotFit). Requires fp32 or bf16.
  kernels::Tensor make(std::int64_t rows, std::int64_t cols, DType dtype);
  float* make_floats(std::int64_t count) {
    return static_cast<float*>(make(1, count, DType::kF32).data);
  }

 private:
  std::vector<tiers::HostArena> memory_;
};

}  // namespace ebbtide::measure
