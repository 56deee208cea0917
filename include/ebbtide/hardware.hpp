// The machine as a planner sees it: rates and latencies. Plain data; no CUDA, no clock.
#pragma once

#include <cstdint>
#include <string>

#include "ebbtide/program.hpp"
#include "ebbtide/types.hpp"

namespace ebbtide {

// A one-way path: seconds for n bytes = latency_s + n / bytes_per_s.
struct Rate {
  double bytes_per_s = 0;
  double latency_s = 0;

  double seconds(double bytes) const { return latency_s + bytes / bytes_per_s; }
};

struct HardwareModel {
  std::string name;
  double device_flops_per_s = 0;  // sustained, in the run's dtype
  double device_memory_bytes_per_s = 0;
  double op_overhead_s = 0;  // launch and dispatch of one op
  Rate d2h;
  Rate h2d;
  Rate nvme_write;
  Rate nvme_read;
  double host_flops_per_s = 0;
  double host_memory_bytes_per_s = 0;
  double nvme_endurance_bytes = 0;  // rated bytes written over the drive's life; 0 if unknown

  // Seconds that an op of this cost takes where it runs, alone.
  double op_seconds(const OpCost& cost, Place place) const;
  double move_seconds(double bytes) const { return 2 * bytes / device_memory_bytes_per_s; }
  const Rate& rate(Lane lane) const;  // Requires one of the four transfer lanes.
};

// A two-core CPU that plays the device, with an NVMe drive: a start until `bench` has measured.
HardwareModel generic_cpu_hardware();

}  // namespace ebbtide
