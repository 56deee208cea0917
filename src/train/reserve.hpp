// Makes the engine of a run: reserves exactly what its plans touch.
#pragma once

#include "ebbtide/engine.hpp"
#include "ebbtide/types.hpp"
#include "src/train/options.hpp"

namespace ebbtide::train {

// Throws Error(kDoesNotFit) naming the flag when memory or disk give less than `bytes`, or the
// system's error.
Engine reserve(const TrainOptions& options, const PerTier<std::uint64_t>& bytes);

}  // namespace ebbtide::train
