// What a step is expected to take: time, use of the lanes, bytes on the links, wear. From simulated
// timelines alone.
#pragma once

#include <cstdint>
#include <optional>

#include "ebbtide/timeline.hpp"
#include "src/plan/planned_run.hpp"
#include "src/report/exposure.hpp"

namespace ebbtide::plan {

struct DriveLife {
  double bytes_a_day = 0;      // written, of one rank
  std::optional<double> days;  // to the rating; nothing where it is not known
  double endurance_bytes = 0;  // of one rank's part of the drives
};

// Of steps on machines that stray from their model, by seed.
struct Spread {
  double fastest_seconds = 0;
  double slowest_seconds = 0;
  int steps = 0;
};

struct Prediction {
  double step_seconds = 0;
  Spread spread;
  std::int64_t tokens = 0;  // of one rank's step
  double model_flops = 0;
  double peak_flops_per_s = 0;
  report::Exposure exposure;  // where the time goes, by lane, cause and layer
  LoadCount loads;
  DriveLife drives;

  double tokens_per_second() const { return static_cast<double>(tokens) / step_seconds; }
  double mfu() const { return model_flops / step_seconds / peak_flops_per_s; }
  double exposed_seconds() const { return exposure.exposed_s(); }
  // Seconds of transfers that run beside compute.
  double hidden_seconds() const;
};

// Model flops of one sequence, causal, as MEMO counts them (Zhao et al., SIGMOD 2025): 6 P s for
// the products with weights and 6 L h s^2 for attention; nothing for what is recomputed. P are the
// parameters, h is heads times their width.
double model_flops(const model::ModelConfig& config, std::int64_t seq_len);

// Requires a run that fits.
Prediction predict(const PlannedRun& run, const train::TrainOptions& options);

}  // namespace ebbtide::plan
