// Whether another chunk size would make a step faster. Chunk size changes the order of sums, so
// nothing applies one silently: a plan only tells.
#pragma once

#include <cstdint>
#include <optional>

#include "src/plan/planned_run.hpp"

namespace ebbtide::plan {

struct OtherChunk {
  std::int64_t tokens = 0;
  double step_seconds = 0;
};

// Of half and twice the run's chunk size, with everything else as planned, the faster one if its
// step is shorter by a fiftieth; nothing too where that takes long to know. Blocks for as long as
// some four plans take. Requires a run that fits.
std::optional<OtherChunk> faster_chunk(const Request& request, const PlannedRun& run);

}  // namespace ebbtide::plan
