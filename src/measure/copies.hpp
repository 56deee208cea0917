// Copies between the arena of the CPU device and a host arena, on its two copy lanes.
#pragma once

#include "src/measure/figures.hpp"
#include "src/measure/pace.hpp"

namespace ebbtide::measure {

// Blocks. Throws Error(kCancelled, or kDoesNotFit where memory for the arenas is short).
CopyFigures measure_copies(Pace& pace);

}  // namespace ebbtide::measure
