// What the tests of traffic plan with, and the traffic of a plan.
#pragma once

#include <cstdint>

#include "ebbtide/plan.hpp"

namespace ebbtide::plan_test {

inline double device_traffic_bytes(const Plan& plan) {
  return static_cast<double>(plan.moved_bytes[index(Lane::kD2h)] +
                             plan.moved_bytes[index(Lane::kH2d)]);
}

// A device of 0.9 TB/s and 80 TFLOP/s behind a link of 25 GB/s: there a move inside the arena takes
// an eighteenth of the time of a transfer; in generic_cpu_hardware() it takes four fifths.
inline HardwareModel card_hardware() {
  HardwareModel model = generic_cpu_hardware();
  model.name = "card of 24 GB";
  model.device_flops_per_s = 8e13;
  model.device_memory_bytes_per_s = 9e11;
  model.d2h.bytes_per_s = model.h2d.bytes_per_s = 2.5e10;
  return model;
}

// What `--prefetch-distance auto` and `0` come to.
enum class Prefetch : std::uint8_t { kAuto, kNone };

inline PlanOptions options_with(Prefetch prefetch) {
  PlanOptions options;
  if (prefetch == Prefetch::kNone) options.prefetch_chunk_steps = 0;
  return options;
}

}  // namespace ebbtide::plan_test
