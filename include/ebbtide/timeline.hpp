// When every task of a step ran, measured or simulated: both have this shape.
#pragma once

#include <cstdint>
#include <optional>
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

  // In which some task of the lane ran.
  double busy_seconds(Lane lane) const;
  // Values loaded to the device.
  LoadCount loads(const Plan& plan) const;
};

// How a machine strays from its hardware model: one seed, one step.
struct Jitter {
  std::uint64_t seed = 0;
  double spread = 0.03;  // standard deviation of a task's seconds, as a part of them
};

// Walks a verified plan in virtual time; lanes slow each other down where they share a path. With
// jitter tasks take longer or shorter than the model says, and drives now and then answer late.
// Pure.
Timeline simulate(const Program& program, const Plan& plan, const HardwareModel& hardware,
                  const std::optional<Jitter>& jitter = {});

}  // namespace ebbtide
