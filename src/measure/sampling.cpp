#include "src/measure/sampling.hpp"

#include <algorithm>
#include <cmath>

#include "ebbtide/error.hpp"

namespace ebbtide::measure {
namespace {

// Past this many a median moves no more.
constexpr std::size_t kMostSamples = 10000;

// Where the clock is coarser than a run.
constexpr double kLeastSeconds = 1e-9;

}  // namespace

double seconds_since(Clock::time_point begin) {
  return std::max(kLeastSeconds, std::chrono::duration<double>(Clock::now() - begin).count());
}

void throw_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(Errc::kCancelled, "cancelled");
}

double quantile(std::vector<double> values, double part) {
  EBBTIDE_CHECK(!values.empty(), "no values");
  const double rank = std::ceil(part * static_cast<double>(values.size()));
  const auto at = static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

double median_seconds(const std::function<void()>& run, double slice_s,
                      const std::stop_token& stop) {
  const Clock::time_point start = Clock::now();
  throw_if_stopped(stop);
  run();
  const double first = seconds_since(start);
  std::vector<double> samples;
  // One more run is not begun where it would end past the slice.
  while (samples.size() < kMostSamples && seconds_since(start) + first <= slice_s) {
    throw_if_stopped(stop);
    const Clock::time_point begin = Clock::now();
    run();
    samples.push_back(seconds_since(begin));
  }
  return samples.empty() ? first : quantile(std::move(samples), 0.5);
}

}  // namespace ebbtide::measure
