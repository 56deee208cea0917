#include "src/plan/simulated_step.hpp"

#include <algorithm>

namespace ebbtide::plan {

report::StepRecord simulated_step(const PlannedRun& run, std::int64_t most_alike) {
  report::StepRecord record;
  for (const SimulatedProgram& simulated : run.step) {
    const double seconds = simulated.timeline.step_seconds;
    for (std::int64_t i = 0; i < std::min(simulated.times, most_alike); ++i)
      record.runs.push_back({.name = simulated.name,
                             .program = simulated.program,
                             .plan = simulated.plan,
                             .start_s = record.step_seconds + static_cast<double>(i) * seconds,
                             .timeline = simulated.timeline});
    record.step_seconds += static_cast<double>(simulated.times) * seconds;
  }
  return record;
}

}  // namespace ebbtide::plan
