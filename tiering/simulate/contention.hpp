// What lanes take from each other when they run at once: the two directions of a link, DRAM under
// links, drives and the optimizer, and a drive that reads and writes.
#pragma once

#include "ebbtide/hardware.hpp"
#include "ebbtide/types.hpp"

namespace ebbtide::simulation {

// What a lane does at this moment if nothing slows it; 0 while it rests. Bytes a second: of the
// transfer for the lanes that transfer, sent for kComm, of DRAM for kHostCompute.
using Demand = PerLane<double>;

// The part of its own speed at which each lane runs, in (0, 1]: every resource is shared in
// proportion to the demands, and a lane is as slow as the most crowded resource that it uses.
PerLane<double> speeds(const HardwareModel& hardware, const Demand& demand);

}  // namespace ebbtide::simulation
