// Steps as a trace that chrome://tracing and Perfetto show: a process for the run, a track for each
// lane, arrows from a store to the load that brings its values back, counters of what each tier
// holds and how fast each link goes.
//
// A step is written when it has ended, the file is good to read after every one (trace_file.hpp).
// Steps follow each other without what lies between them. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "ebbtide/hardware.hpp"
#include "src/report/step_record.hpp"
#include "src/report/trace_events.hpp"
#include "src/report/trace_file.hpp"

namespace ebbtide::report {

class Trace {
 public:
  // Makes the file. `process`: whose steps these are ("ebbtide train, rank 0 of 1"). Throws the
  // system's error.
  Trace(const std::filesystem::path& path, const std::string& process, std::int32_t rank = 0);

  // Writes a step. The model tells causes of waiting apart (exposure.hpp). Throws the system's
  // error; the file then ends with the step before, and nothing can be added any more.
  void add(const StepRecord& record, const HardwareModel& hardware);
  // In all steps so far.
  std::uint64_t task_count() const { return task_count_; }

 private:
  struct Run;  // one of a step, with what is written about it

  void add_run(const ProgramRun& run, TraceTime origin);
  void add_task(const Run& run, TaskAt at);
  void add_waits(const StepRecord& record, TraceTime origin, const HardwareModel& hardware);
  void add_held(const ProgramRun& run, TraceTime origin);
  void add_rates(const ProgramRun& run, Lane lane, TraceTime origin);
  // A track of the lane that is free by then; slices of a track never overlap.
  Track track_for(Lane lane, const TraceSpan& span);

  TraceFile file_;
  TraceEvents events_;
  std::int32_t process_;
  PerLane<std::vector<TraceTime>> busy_until_{};  // by lane and track
  TraceTime end_ = 0;                             // of the last step
  std::uint64_t flow_count_ = 0;
  std::uint64_t task_count_ = 0;
};

}  // namespace ebbtide::report
