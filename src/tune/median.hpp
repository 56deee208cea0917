// Median and spread of a few measurements.
#pragma once

#include <vector>

namespace ebbtide::tune {

// The middle one, or the mean of the two; requires one at least.
double median(std::vector<double> values);

}  // namespace ebbtide::tune
