// Profiles of runs in virtual time: planned for the machine that the options name, run on another.
#pragma once

#include <vector>

#include "src/profile/advice.hpp"

namespace ebbtide::profile {

// The demo model, 2K tokens in chunks of 256, activations and state off the device, over links and
// drives that hide behind compute.
train::TrainOptions demo_options();

// Steps as the machine `actual` runs them. `data_s`: of each, spent on reading sequences beside it.
Profile simulated_profile(const train::TrainOptions& options, const HardwareModel& actual,
                          const std::vector<double>& data_s);
inline Profile simulated_profile(const train::TrainOptions& options, const HardwareModel& actual,
                                 double data_s = 0) {
  return simulated_profile(options, actual, std::vector{data_s});
}

}  // namespace ebbtide::profile
