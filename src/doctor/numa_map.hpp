// NUMA nodes as hwloc sees them.
#pragma once

#include <hwloc.h>

#include "src/doctor/system.hpp"

namespace ebbtide::doctor {

// Requires a topology that is loaded. `usable`: the CPUs that count; null: all of it.
NumaMap numa_map(hwloc_topology_t topology, hwloc_const_bitmap_t usable = nullptr);

// Of this machine and this process; no nodes where hwloc cannot tell.
NumaMap this_numa_map();

}  // namespace ebbtide::doctor
