// From timings of one class of op to the two figures that a hardware file has of it.
#pragma once

#include <span>

#include "src/hardware/machine.hpp"

namespace ebbtide::measure {

// An op of `work` (flops or bytes) ran at `of_peak` times the device's peak.
struct Speed {
  double work = 0;
  double of_peak = 0;
};

// The efficiency that predicts the speeds best. With r = rate / peak, the form
//   r = fraction * work / (work + half)
// is a line of 1/work: 1/r = 1/fraction + half/fraction * 1/work. The line is fitted by least
// squares of relative error, without which slow small ops would outweigh all others. Fraction stays
// in (0, 1] and half from 0 on: where the line leaves these bounds, the best line on the bound is
// taken.
// Requires at least one speed, all above zero. Speeds of a single work fix no half: it is 0 then.
hardware::Efficiency fit_efficiency(std::span<const Speed> speeds);

}  // namespace ebbtide::measure
