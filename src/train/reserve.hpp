// Makes the engine of a run: reserves exactly what its plans touch.
#pragma once

#include "ebbtide/engine.hpp"
#include "ebbtide/types.hpp"
#include "src/train/options.hpp"

namespace ebbtide::train {

// Throws Error(kDoesNotFit) where memory or disk give less than `bytes`, Error(kBadUsage) where an
// --nvme-path takes no file.
Engine reserve(const TrainOptions& options, const PerTier<std::uint64_t>& bytes);

}  // namespace ebbtide::train
