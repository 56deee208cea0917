// From figures to a hardware file: each key with how it came about.
#pragma once

#include "src/hardware/machine_file.hpp"
#include "src/measure/figures.hpp"

namespace ebbtide::measure {

struct MeasuredMachine {
  hardware::Machine machine;
  hardware::Sources sources;  // one for every key of the machine
};

// One rank on one node, whose device is the CPU. Without figures of a disk the file's are estimates
// that say so, with the least capacity that the format has, so that no plan uses it.
// Requires figures above zero, and of each class of op at least one.
MeasuredMachine machine_of(const Figures& figures);

}  // namespace ebbtide::measure
