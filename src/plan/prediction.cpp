#include "src/plan/prediction.hpp"

#include <algorithm>
#include <limits>

#include "ebbtide/error.hpp"

namespace ebbtide::plan {
namespace {

constexpr std::array kTransferLanes{Lane::kD2h, Lane::kH2d, Lane::kNvmeWrite, Lane::kNvmeRead};
constexpr double kSecondsADay = 86400;

void add_program(const SimulatedProgram& simulated, const HardwareModel& rates, Prediction& sum) {
  const auto times = static_cast<double>(simulated.times);
  const auto count = static_cast<std::uint64_t>(simulated.times);
  sum.exposure.add(
      report::exposure_of(*simulated.program, *simulated.plan, simulated.timeline, rates), times);
  const LoadCount loads = simulated.timeline.loads(*simulated.plan);
  sum.loads.all += count * loads.all;
  sum.loads.in_time += count * loads.in_time;
}

DriveLife drive_life(const Prediction& prediction, double endurance_bytes) {
  DriveLife life{.endurance_bytes = endurance_bytes};
  const auto written = static_cast<double>(prediction.exposure.of(Lane::kNvmeWrite).bytes);
  life.bytes_a_day = written / prediction.step_seconds * kSecondsADay;
  if (written > 0 && endurance_bytes > 0) life.days = endurance_bytes / life.bytes_a_day;
  return life;
}

double jittered_seconds(const PlannedRun& run, std::uint64_t seed) {
  double seconds = 0;
  for (const SimulatedProgram& program : run.step)
    seconds += static_cast<double>(program.times) *
               simulate(*program.program, *program.plan, run.target.rates, Jitter{.seed = seed})
                   .step_seconds;
  return seconds;
}

Spread spread_of(const PlannedRun& run) {
  constexpr int kSteps = 4;
  Spread spread{.fastest_seconds = std::numeric_limits<double>::infinity(), .steps = kSteps};
  for (int seed = 1; seed <= kSteps; ++seed) {
    const double seconds = jittered_seconds(run, static_cast<std::uint64_t>(seed));
    spread.fastest_seconds = std::min(spread.fastest_seconds, seconds);
    spread.slowest_seconds = std::max(spread.slowest_seconds, seconds);
  }
  return spread;
}

}  // namespace

double Prediction::hidden_seconds() const {
  double hidden = 0;
  for (const Lane lane : kTransferLanes) hidden += exposure.of(lane).hidden_s();
  return std::max(hidden, 0.0);
}

double model_flops(const model::ModelConfig& config, std::int64_t seq_len) {
  double parameters = 0;
  for (const model::Parameter& parameter : model::parameters(config))
    parameters += static_cast<double>(parameter.count());
  const auto tokens = static_cast<double>(seq_len);
  const auto width = static_cast<double>(config.heads * config.head_dim);
  return 6 * parameters * tokens + 6 * static_cast<double>(config.layers) * width * tokens * tokens;
}

Prediction predict(const PlannedRun& run, const train::TrainOptions& options) {
  EBBTIDE_CHECK(run.fits(), run.why_not);
  Prediction prediction;
  prediction.step_seconds = run.step_seconds();
  for (const SimulatedProgram& program : run.step)
    add_program(program, run.target.rates, prediction);
  prediction.spread = spread_of(run);
  const std::int64_t sequences = options.run.micro_steps() * run.shape.ranks.data_parallel;
  prediction.tokens = sequences * options.run.seq_len;
  prediction.model_flops =
      static_cast<double>(sequences) * model_flops(run.config, options.run.seq_len);
  prediction.peak_flops_per_s = static_cast<double>(run.target.ranks) * run.target.flops_per_s;
  prediction.drives = drive_life(prediction, run.target.rates.nvme_endurance_bytes);
  return prediction;
}

}  // namespace ebbtide::plan
