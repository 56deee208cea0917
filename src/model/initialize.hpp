// Initial weights, a function of (seed, parameter name, element index) alone: not of the order in
// which blocks are made, of their size, nor of where they are stored. Thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "src/model/config.hpp"
#include "src/model/llama.hpp"

namespace ebbtide::model {

// Sets values[i] to element offset + i of the parameter, in row-major order: matrices and
// embeddings are normal(0, config.initializer_range) by Box-Muller, norm weights one, biases zero.
// Requires 0 <= offset and offset + values.size() <= parameter.count().
void initialize(const Parameter& parameter, const ModelConfig& config, std::uint64_t seed,
                std::int64_t offset, std::span<float> values);

}  // namespace ebbtide::model
