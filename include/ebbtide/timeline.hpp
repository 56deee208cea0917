// When every task of a step ran, measured or simulated: both have this shape.
#pragma once

#include <cstdint>
#include <vector>

#include "ebbtide/hardware.hpp"
#include "ebbtide/plan.hpp"
#include "ebbtide/types.hpp"

namespace ebbtide {

struct Interval {
  double start_s = 0;  // from the start of the step
  double end_s = 0;
};

struct LoadCount {
  std::uint64_t all = 0;
  std::uint64_t in_time = 0;  // done before the device came to what needs them
};

struct Timeline {
  PerLane<std::vector<Interval>> tasks;  // one per task of the plan, in lane order
  double step_seconds = 0;

  double busy_seconds(Lane lane) const;
  // Seconds of the step in which compute stood still while this lane was at work on what it
  // waited for; the sum over lanes is the exposed time.
  PerLane<double> exposed_seconds(const Plan& plan) const;
  // Values loaded to the device.
  LoadCount loads(const Plan& plan) const;
};

// Walks a verified plan in virtual time. Pure.
Timeline simulate(const Program& program, const Plan& plan, const HardwareModel& hardware);

}  // namespace ebbtide
