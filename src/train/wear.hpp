// Whether a run's writes would use a drive up fast.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ebbtide::train {

struct DriveWear {
  std::uint64_t bytes_a_step = 0;  // written
  double step_seconds = 0;
  std::uint64_t capacity_bytes = 0;  // of the drives
  double endurance_bytes = 0;        // rated writes over their life; 0: assumed from the capacity
};

// A warning when the rated writes would be used up in less than a year of such steps.
std::optional<std::string> wear_warning(const DriveWear& wear);

}  // namespace ebbtide::train
