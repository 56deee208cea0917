// How much memory programs and plans take, known before the first is built. It grows with the
// square of the number of chunks, and the kernel kills who takes more than there is.
#pragma once

#include <cstdint>

#include "src/model/llama.hpp"
#include "src/train/budgets.hpp"
#include "src/train/options.hpp"

namespace ebbtide::train {

// Of all plans of a run.
struct PlanningMemory {
  std::uint64_t kept_bytes = 0;  // while it trains
  std::uint64_t peak_bytes = 0;  // while the last plan is made
};

// An estimate, from the number of ops. `evaluation_tokens`: of a sequence that is evaluated; 0:
// none is.
PlanningMemory planning_memory(const model::ModelConfig& config, const TrainOptions& options,
                               std::int64_t evaluation_tokens);

// Throws Error(kDoesNotFit), with the chunk size that fits, where planning would take more than
// the memory of this machine.
void check_planning_fits(const model::ModelConfig& config, const TrainOptions& options,
                         std::int64_t evaluation_tokens, const MachineLimits& limits);

}  // namespace ebbtide::train
