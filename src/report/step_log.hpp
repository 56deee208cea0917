// Writes one JSON object a line, a step each. Numbers have enough digits to round-trip; a line is
// flushed when it is written, so that a run that dies leaves whole lines.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "src/report/step_report.hpp"

namespace ebbtide::report {

// The line of a step, without the newline.
std::string json_line(const StepReport& report);

enum class LogStart : std::uint8_t { kNew, kAppend };

class StepLog {
 public:
  // Throws the system's error when the file cannot be opened.
  StepLog(const std::filesystem::path& path, LogStart start);
  // Throws the system's error when the line cannot be written.
  void write(const StepReport& report);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace ebbtide::report
