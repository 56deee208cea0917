#include "src/cli/status_line.hpp"

#include "src/cli/terminal.hpp"
#include "src/report/progress.hpp"

namespace ebbtide::cli {
namespace {

// Carriage return, then "erase to the end of the line" (ECMA-48 EL 0).
constexpr const char* kErase = "\r\x1b[K";

}  // namespace

StatusLine::StatusLine(std::FILE* stream)
    : stream_(stream), is_live_(report::progress_style(stream) == report::ProgressStyle::kLive) {}

void StatusLine::show(const std::string& line) {
  if (!is_live_) return;
  // A line that wraps could not be taken back.
  const std::size_t columns = terminal_columns(stream_).value_or(line.size() + 1);
  report::print_text(stream_, kErase + line.substr(0, columns - 1));
  std::fflush(stream_);
  is_open_ = true;
}

void StatusLine::note(const std::string& line) {
  if (is_live_) return show(line);
  report::print_text(stream_, line + "\n");
  std::fflush(stream_);
}

void StatusLine::clear() {
  if (!is_open_) return;
  report::print_text(stream_, kErase);
  std::fflush(stream_);
  is_open_ = false;
}

}  // namespace ebbtide::cli
