// What would shorten a profiled step: changes that are planned as `train` would plan them, and kept
// only where the simulated step gets shorter.
#pragma once

#include <functional>

#include "src/profile/profile.hpp"

namespace ebbtide::profile {

// Told of each plan that is made, with the flags that it is for; may throw to end the search.
using OnChange = std::function<void(const std::string& flags)>;

// Adds the advice to the profile. Blocks for about as long as planning some twenty times. The same
// profile and options give the same advice.
void advise(Profile& profile, const train::TrainOptions& options, const OnChange& on_change = {});

}  // namespace ebbtide::profile
