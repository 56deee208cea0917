// One step as it ran, measured or simulated: the runs of its programs one after the other. What
// traces, reports and the accounting of exposed time read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"
#include "ebbtide/timeline.hpp"

namespace ebbtide::report {

struct ProgramRun {
  std::string name;  // "forward and backward", "optimizer", ...
  const Program* program = nullptr;
  const Plan* plan = nullptr;
  double start_s = 0;  // from the start of the step
  Timeline timeline;   // from the start of the run
};

// Between runs nothing computes: sequences are read and written to their homes.
struct StepRecord {
  std::int64_t step = 0;  // from 1; 0 for a simulated one
  double step_seconds = 0;
  double data_seconds = 0;  // of them, reading sequences
  std::vector<ProgramRun> runs;
};

}  // namespace ebbtide::report
