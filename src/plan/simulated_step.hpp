// A planned run's step as a record, of the same shape as one that was measured.
#pragma once

#include <cstdint>
#include <limits>

#include "src/plan/planned_run.hpp"
#include "src/report/step_record.hpp"

namespace ebbtide::plan {

inline constexpr std::int64_t kEveryRun = std::numeric_limits<std::int64_t>::max();

// Runs follow each other without a pause. Of micro-steps that are alike the first `most_alike` are
// in the record; those left out keep their time in it. Good as long as `run` is.
report::StepRecord simulated_step(const PlannedRun& run, std::int64_t most_alike = kEveryRun);

}  // namespace ebbtide::plan
