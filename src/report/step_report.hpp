// What is known after a step, for progress lines and logs. Plain data.
#pragma once

#include <cstdint>
#include <optional>

#include "ebbtide/timeline.hpp"
#include "ebbtide/types.hpp"

namespace ebbtide::report {

struct StepReport {
  std::int64_t step = 0;  // from 1
  double loss = 0;        // mean over the step's targets
  double grad_norm = 0;   // of the mean gradient, before clipping
  double learning_rate = 0;
  std::int64_t tokens = 0;
  double step_seconds = 0;
  double compute_seconds = 0;           // the compute lane was at work
  double transfer_seconds = 0;          // all transfer lanes, summed
  PerLane<double> exposed_seconds{};    // compute stood still for this lane
  LoadCount loads;                      // of values to the device
  PerTier<std::uint64_t> peak_bytes{};  // touched so far, as the engine saw it
  std::uint64_t nvme_bytes_written = 0;
  std::uint64_t nvme_bytes_read = 0;
  std::uint64_t offloaded_bytes = 0;  // device to host
  std::optional<std::uint64_t> weights_xxh3;

  double tokens_per_second() const {
    return step_seconds > 0 ? static_cast<double>(tokens) / step_seconds : 0;
  }
  double exposed_total() const {
    double total = 0;
    for (const double seconds : exposed_seconds) total += seconds;
    return total;
  }
  // Seconds of transfers that ran beside compute.
  double hidden_seconds() const {
    double hidden = transfer_seconds;
    for (const Lane lane : {Lane::kD2h, Lane::kH2d, Lane::kNvmeWrite, Lane::kNvmeRead})
      hidden -= exposed_seconds[index(lane)];
    return hidden > 0 ? hidden : 0;
  }
};

}  // namespace ebbtide::report
