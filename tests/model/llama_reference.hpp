// The whole Llama step in double, unchunked, written for reading: the numbers that the chunked
// programs are compared with. Matrices are row-major; letters as in kernels.hpp, T tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "src/model/llama.hpp"

namespace ebbtide::testing {

using Doubles = std::vector<double>;

struct ReferenceStep {
  double loss = 0;                 // sum over targets
  std::vector<Doubles> gradients;  // by parameter, in the order of parameters()
};

// Requires one vector of weights for each of parameters(config).
double reference_loss(const model::ModelConfig& config, const std::vector<Doubles>& weights,
                      const std::vector<std::uint32_t>& tokens,
                      const std::vector<std::uint32_t>& targets);
ReferenceStep reference_step(const model::ModelConfig& config, const std::vector<Doubles>& weights,
                             const std::vector<std::uint32_t>& tokens,
                             const std::vector<std::uint32_t>& targets);

}  // namespace ebbtide::testing
