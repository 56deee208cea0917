// How fast the kernels are, by class of op, shape and dtype; and the memory under them.
#pragma once

#include "kernels/kernels.hpp"
#include "src/measure/figures.hpp"
#include "src/measure/pace.hpp"

namespace ebbtide::measure {

// The largest shapes are left out where their part of the time has no room for them. Blocks; throws
// Error(kCancelled, or kDoesNotFit where memory for the operands is short).
ComputeFigures measure_compute(kernels::Kernels& kernels, Pace& pace);

// Triad with threads of its own, AdamW through the kernels. Blocks; throws as above.
MemoryFigures measure_memory(kernels::Kernels& kernels, int threads, Pace& pace);

}  // namespace ebbtide::measure
