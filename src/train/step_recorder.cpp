#include "src/train/step_recorder.hpp"

#include <algorithm>
#include <utility>

namespace ebbtide::train {

void StepRecorder::begin(std::int64_t step) {
  start_ = std::chrono::steady_clock::now();
  // From the last to the first: the next step's runs, taken from the end, meet their own kind.
  for (; !record_.runs.empty(); record_.runs.pop_back())
    spare_.push_back(std::move(record_.runs.back()));
  record_.step = step;
  record_.step_seconds = 0;
  record_.data_seconds = 0;
}

void StepRecorder::add_run(const PlannedProgram& planned, const Timeline& timeline) {
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - start_;
  report::ProgramRun run;
  if (!spare_.empty()) {
    run = std::move(spare_.back());
    spare_.pop_back();
  }
  run.name = planned.name;
  run.program = &planned.program;
  run.plan = &planned.plan;
  run.start_s = std::max(0.0, since.count() - timeline.step_seconds);
  run.timeline = timeline;
  record_.runs.push_back(std::move(run));
}

}  // namespace ebbtide::train
