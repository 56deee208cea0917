// What --trace does: the file, which steps are in it, and what happens when it cannot be written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "src/report/step_record.hpp"
#include "src/report/trace.hpp"

namespace ebbtide::cli {

// No further step is traced once so many tasks are: at some 400 bytes a task the file is larger
// then than readers like.
inline constexpr std::uint64_t kMostTracedTasks = 1'000'000;

class TraceOutput {
 public:
  // Throws Error(kBadUsage) where the file cannot be made.
  TraceOutput(std::filesystem::path path, const std::string& process);

  bool has_room() const { return trace_ && trace_->task_count() < kMostTracedTasks; }
  std::int64_t steps() const { return steps_; }
  // Writes a step. Returns a warning where that fails, once: the run goes on, its trace ends.
  [[nodiscard]] std::optional<std::string> add(const report::StepRecord& record,
                                               const HardwareModel& hardware);

 private:
  std::filesystem::path path_;
  std::optional<report::Trace> trace_;  // none once a write has failed
  std::int64_t steps_ = 0;
};

}  // namespace ebbtide::cli
