// Tells a person how training goes: on a terminal one live line (bar, time left, loss, tokens a
// second, hidden and exposed seconds), else one plain line a step.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "src/report/step_report.hpp"

namespace ebbtide::report {

// Writes a text as far as it can be written. A failure stays with the stream (ferror), so that a
// run does not end for it; main tells of it at the end.
void print_text(std::FILE* stream, std::string_view text) noexcept;

enum class ProgressStyle : std::uint8_t { kLive, kPlain };
// kLive when the stream is a terminal.
ProgressStyle progress_style(std::FILE* stream);

// One step in one line, without the newline.
std::string plain_line(const StepReport& report, std::int64_t steps);
// The live line: seconds left from the seconds of the steps so far.
std::string live_line(const StepReport& report, std::int64_t steps, double seconds_left);

class Progress {
 public:
  Progress(std::FILE* stream, ProgressStyle style, std::int64_t first_step, std::int64_t steps)
      : stream_(stream), style_(style), first_step_(first_step), steps_(steps) {}

  void step(const StepReport& report);
  // Something worth a line of its own, which stays.
  void note(const std::string& line);
  // Ends the live line.
  void finish();

 private:
  std::FILE* stream_;
  ProgressStyle style_;
  std::int64_t first_step_;
  std::int64_t steps_;
  double seconds_ = 0;
  bool live_line_shown_ = false;
};

}  // namespace ebbtide::report
