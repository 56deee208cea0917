// Fills the record of a step while the step runs. Not thread-safe.
//
// A record of a step like one before it is made without an allocation: timelines are copied into
// memory that earlier records took.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "ebbtide/timeline.hpp"
#include "src/report/step_record.hpp"
#include "src/train/planned_program.hpp"

namespace ebbtide::train {

class StepRecorder {
 public:
  // The step starts now.
  void begin(std::int64_t step);
  void add_data(double seconds) { record_.data_seconds += seconds; }
  // A run that has just ended. The program outlives the record; the timeline is copied.
  void add_run(const PlannedProgram& planned, const Timeline& timeline);
  void end(double step_seconds) { record_.step_seconds = step_seconds; }
  // Good until the next begin().
  const report::StepRecord& record() const { return record_; }

 private:
  std::chrono::steady_clock::time_point start_;
  report::StepRecord record_;
  std::vector<report::ProgramRun> spare_;  // of earlier steps, for their memory
};

}  // namespace ebbtide::train
