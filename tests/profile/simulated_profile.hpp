// Profiles of runs in virtual time: planned for the machine that the options name, run on another.
#pragma once

#include "src/profile/advice.hpp"

namespace ebbtide::profile {

// The demo model, 2K tokens in chunks of 256, activations and state off the device, over links and
// drives that hide behind compute.
train::TrainOptions demo_options();

// A step as the machine `actual` runs it. `data_s`: spent on reading sequences beside it.
Profile simulated_profile(const train::TrainOptions& options, const HardwareModel& actual,
                          double data_s = 0);

}  // namespace ebbtide::profile
