// How long something takes, when it is run for a while; and when to give up.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <vector>

namespace ebbtide::measure {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin);

// Throws Error(kCancelled) once a stop was requested.
void throw_if_stopped(const std::stop_token& stop);

// The value that `part` of all are below, 0.5 for the median: the nearest rank (no value is made up
// between two). Requires at least one; part in (0, 1].
double quantile(std::vector<double> values, double part);

// Seconds of one run, the median over as many as `slice_s` seconds have room for and at least one.
// The first warms up and counts only if it is the only one. Throws Error(kCancelled).
double median_seconds(const std::function<void()>& run, double slice_s,
                      const std::stop_token& stop);

}  // namespace ebbtide::measure
