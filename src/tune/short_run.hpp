// A real run of a few steps, for its seconds alone.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "src/train/options.hpp"
#include "src/train/stop.hpp"

namespace ebbtide::tune {

struct ShortRun {
  std::int64_t steps = 1;  // that count; one before them warms up
  // Of the first step: after a slower one the run is given up and counts as slow as that.
  double give_up_seconds = std::numeric_limits<double>::infinity();
};

struct RunFigures {
  double step_seconds = 0;       // median of the steps that count
  double predicted_seconds = 0;  // of a step
  double run_seconds = 0;        // of everything, planning included
  std::int64_t chunk_tokens = 0;
};

using Measure = std::function<RunFigures(const train::TrainOptions&, const ShortRun&)>;

// Trains as the options say, but keeps and writes nothing and evaluates nothing. Blocks; throws
// what training throws, kCancelled at a stop.
RunFigures measure_run(const train::TrainOptions& options, const ShortRun& run, train::Stop& stop);

}  // namespace ebbtide::tune
