// The machine as a planner sees it: rates and latencies. Plain data; no CUDA, no clock.
#pragma once

#include <array>
#include <cstddef>
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

// A rate that small work does not reach: seconds = (work + half) / per_s, which is to say that
// `half` runs at half of per_s.
struct WorkRate {
  double per_s = 0;  // of large work; 0 if unknown
  double half = 0;

  double seconds(double work) const { return work > 0 ? (work + half) / per_s : 0; }
};

// How bytes get from one rank of a node to another.
enum class PeerPath : std::uint8_t {
  kDirect,       // NVLink or PCIe peer-to-peer
  kThroughHost,  // over the sender's d2h, DRAM (in and out) and the receiver's h2d
};

// Rates of paths that lanes share, of which each lane gets less while others run. All 0: not known,
// every lane has its own rate whatever else runs.
struct SharedRates {
  double link_bytes_per_s = 0;            // one direction, the other at rest
  double link_both_ways_bytes_per_s = 0;  // each direction, while both copy
  double nvme_read_bytes_per_s = 0;       // while nothing is written
  double nvme_write_bytes_per_s = 0;      // while nothing is read

  bool known() const { return link_bytes_per_s > 0; }
};

struct HardwareModel {
  std::string name;
  double device_flops_per_s = 0;  // sustained, in the run's dtype
  double device_memory_bytes_per_s = 0;
  double op_overhead_s = 0;  // launch and dispatch of one op
  // What plans count on: the rates while all that may run at once does.
  Rate d2h;
  Rate h2d;
  Rate nvme_write;
  Rate nvme_read;
  double nvme_latency_p99_s = 0;  // 0: as the median
  SharedRates shared;
  double host_flops_per_s = 0;
  double host_memory_bytes_per_s = 0;
  double nvme_endurance_bytes = 0;  // rated bytes written over the drive's life; 0 if unknown
  // Of the device, by OpClass: flops of products and attention, bytes of elementwise ops.
  std::array<WorkRate, kOpClassCount> class_rates;
  Rate collective;  // of what a rank sends, while it receives as much
  PeerPath peer_path = PeerPath::kDirect;

  // Seconds that an op of this cost takes where it runs, alone. For Place::kComm they are those of
  // the bytes that the rank sends; requires a collective rate.
  double op_seconds(const OpCost& cost, Place place) const;
  // The same on the device for an op of which the class is known, by the rates of that class as far
  // as they are.
  double device_seconds(const OpCost& cost, OpClass op_class) const;
  double op_seconds(const Program& program, OpId op) const;
  double move_seconds(double bytes) const { return 2 * bytes / device_memory_bytes_per_s; }
  const Rate& rate(Lane lane) const;  // Requires one of the four transfer lanes.
  // The same while nothing else runs.
  Rate rate_alone(Lane lane) const;
};

// A two-core CPU that plays the device, with an NVMe drive: a start until `bench` has measured.
HardwareModel generic_cpu_hardware();

}  // namespace ebbtide
