#include "tiering/simulate/contention.hpp"

#include <algorithm>
#include <array>

namespace ebbtide::simulation {
namespace {

// How often a byte of a lane crosses each resource.
struct Resource {
  double capacity = 0;  // 0: no limit
  PerLane<double> crossings{};
};

constexpr std::size_t at(Lane lane) {
  return index(lane);
}

Resource dram(const HardwareModel& hardware, double of_collective) {
  Resource dram{.capacity = hardware.host_memory_bytes_per_s};
  for (const Lane lane :
       {Lane::kD2h, Lane::kH2d, Lane::kNvmeWrite, Lane::kNvmeRead, Lane::kHostCompute})
    dram.crossings[at(lane)] = 1;
  dram.crossings[at(Lane::kComm)] = 2 * of_collective;  // into DRAM and out of it
  return dram;
}

// A drive that writes for a part of a second reads for the rest of it.
Resource drives(const HardwareModel& hardware) {
  Resource drives{.capacity = 1};
  drives.crossings[at(Lane::kNvmeWrite)] = 1 / hardware.shared.nvme_write_bytes_per_s;
  drives.crossings[at(Lane::kNvmeRead)] = 1 / hardware.shared.nvme_read_bytes_per_s;
  return drives;
}

std::array<Resource, 5> resources(const HardwareModel& hardware) {
  const double of_collective = hardware.peer_path == PeerPath::kThroughHost ? 1 : 0;
  Resource down{.capacity = hardware.shared.link_bytes_per_s};
  Resource up = down;
  Resource both{.capacity = 2 * hardware.shared.link_both_ways_bytes_per_s};
  down.crossings[at(Lane::kD2h)] = up.crossings[at(Lane::kH2d)] = 1;
  down.crossings[at(Lane::kComm)] = up.crossings[at(Lane::kComm)] = of_collective;
  both.crossings[at(Lane::kD2h)] = both.crossings[at(Lane::kH2d)] = 1;
  both.crossings[at(Lane::kComm)] = 2 * of_collective;
  return {down, up, both, dram(hardware, of_collective), drives(hardware)};
}

}  // namespace

PerLane<double> speeds(const HardwareModel& hardware, const Demand& demand) {
  PerLane<double> speeds;
  speeds.fill(1);
  if (!hardware.shared.known()) return speeds;
  for (const Resource& resource : resources(hardware)) {
    double wanted = 0;
    for (std::size_t lane = 0; lane < kLaneCount; ++lane)
      if (demand[lane] > 0) wanted += demand[lane] * resource.crossings[lane];
    if (resource.capacity == 0 || wanted <= resource.capacity) continue;
    for (std::size_t lane = 0; lane < kLaneCount; ++lane)
      if (resource.crossings[lane] > 0)
        speeds[lane] = std::min(speeds[lane], resource.capacity / wanted);
  }
  return speeds;
}

}  // namespace ebbtide::simulation
