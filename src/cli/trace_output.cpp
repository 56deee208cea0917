#include "src/cli/trace_output.hpp"

#include <fmt/format.h>

#include <utility>

#include "ebbtide/error.hpp"

namespace ebbtide::cli {

TraceOutput::TraceOutput(std::filesystem::path path, const std::string& process)
    : path_(std::move(path)) {
  try {
    trace_.emplace(path_, process);
  } catch (const Error& error) {
    throw Error(
        Errc::kBadUsage,
        fmt::format("--trace: {}; name a file that this user may make and write", error.what()));
  }
}

std::optional<std::string> TraceOutput::add(const report::StepRecord& record,
                                            const HardwareModel& hardware) {
  if (!trace_) return std::nullopt;
  try {
    trace_->add(record, hardware);
    ++steps_;
    return std::nullopt;
  } catch (const Error& error) {
    trace_.reset();
    return fmt::format("--trace: {}; the run goes on, its trace ends after {} {}", error.what(),
                       steps_, steps_ == 1 ? "step" : "steps");
  }
}

}  // namespace ebbtide::cli
