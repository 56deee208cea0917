#include "src/report/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "src/report/units.hpp"

namespace ebbtide::report {
namespace {

constexpr int kBarCells = 20;

std::string bar(std::int64_t done, std::int64_t all) {
  const std::int64_t full = all > 0 ? kBarCells * done / all : kBarCells;
  std::string cells(kBarCells, '.');
  std::fill_n(cells.begin(), std::clamp<std::int64_t>(full, 0, kBarCells), '#');
  return cells;
}

std::string peaks(const StepReport& report) {
  std::string text;
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
    const std::uint64_t bytes = report.peak_bytes[index(tier)];
    if (bytes > 0) text += fmt::format("  {} {}", name(tier), bytes_text(bytes));
  }
  return text;
}

}  // namespace

void print_text(std::FILE* stream, std::string_view text) noexcept {
  std::fwrite(text.data(), 1, text.size(), stream);
}

ProgressStyle progress_style(std::FILE* stream) {
  return isatty(fileno(stream)) != 0 ? ProgressStyle::kLive : ProgressStyle::kPlain;
}

std::string plain_line(const StepReport& report, std::int64_t steps) {
  return fmt::format(
      "step {}/{}  loss {:.6f}  norm {:.4f}  lr {:.3g}  {} tokens/s  {}  hidden {}  exposed {}{}",
      report.step, steps, report.loss, report.grad_norm, report.learning_rate,
      tokens_text(report.tokens_per_second()), seconds_text(report.step_seconds),
      seconds_text(report.hidden_seconds()), seconds_text(report.exposed_total()), peaks(report));
}

std::string live_line(const StepReport& report, std::int64_t steps, double seconds_left) {
  return fmt::format("[{}] {}/{}  {} left  loss {:.4f}  {} tokens/s  hidden {}  exposed {}{}",
                     bar(report.step, steps), report.step, steps, seconds_text(seconds_left),
                     report.loss, tokens_text(report.tokens_per_second()),
                     seconds_text(report.hidden_seconds()), seconds_text(report.exposed_total()),
                     peaks(report));
}

void Progress::step(const StepReport& report) {
  seconds_ += report.step_seconds;
  if (style_ == ProgressStyle::kPlain) {
    print_text(stream_, plain_line(report, steps_) + "\n");
  } else {
    const auto done = static_cast<double>(report.step - first_step_ + 1);
    const double left = seconds_ / done * static_cast<double>(steps_ - report.step);
    // Carriage return, then "erase the line" (ECMA-48 EL 2).
    print_text(stream_, "\r\x1b[2K" + live_line(report, steps_, left));
    live_line_shown_ = true;
  }
  std::fflush(stream_);
}

void Progress::note(const std::string& line) {
  finish();
  print_text(stream_, line + "\n");
  std::fflush(stream_);
}

void Progress::finish() {
  if (live_line_shown_) print_text(stream_, "\n");
  live_line_shown_ = false;
}

}  // namespace ebbtide::report
