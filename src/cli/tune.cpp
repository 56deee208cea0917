// `ebbtide tune`: looks for faster settings, measures them against the start, saves a profile.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "ebbtide/error.hpp"
#include "src/cli/command.hpp"
#include "src/cli/config_file.hpp"
#include "src/cli/parse.hpp"
#include "src/cli/profile_flag.hpp"
#include "src/cli/signals.hpp"
#include "src/cli/status_line.hpp"
#include "src/cli/train_flags.hpp"
#include "src/cli/tune_flags.hpp"
#include "src/report/progress.hpp"
#include "src/report/units.hpp"
#include "src/tune/outcome_text.hpp"
#include "src/tune/predictor.hpp"
#include "src/tune/saved_settings.hpp"
#include "src/tune/tune.hpp"

namespace ebbtide::cli {
namespace {

using Clock = std::chrono::steady_clock;
using report::seconds_text;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// On standard error, so that a table or an object stands alone: on a terminal one line that
// changes, else a line for each setting that is faster than those before and for each run.
class TuningLine final : public tune::TuneObserver {
 public:
  void predicted(const tune::Predicted& setting) override {
    ++count_;
    const bool is_better = setting.fits() && (count_ == 1 || setting.step_seconds < best_s_);
    if (is_better) best_s_ = setting.step_seconds;
    const std::string step =
        setting.fits() ? seconds_text(setting.step_seconds) : std::string("does not fit");
    const std::string line =
        fmt::format("{} predicted, {} the best; {}: {}", count_, seconds_text(best_s_),
                    tune::flags_text(setting.setting), step);
    if (is_better)
      line_.note(line);
    else
      line_.show(line);
  }
  void running(int round, const tune::Setting& setting) override {
    line_.note(round == 0 ? fmt::format("running the start: {}", tune::flags_text(setting))
                          : fmt::format("round {}, running {}", round, tune::flags_text(setting)));
  }

 private:
  StatusLine line_{stderr};
  int count_ = 0;
  double best_s_ = 0;
};

tune::Outcome run(const tune::TuneOptions& options) {
  train::Stop stop;
  const SignalWatcher watcher([&stop](const std::string& signal) { stop.request(signal); });
  const Clock::time_point start = Clock::now();
  tune::Predictor predictor(options.start, [&stop] { stop.throw_if_requested(); });
  TuningLine line;
  return tune::tune(
      options,
      {.predict = [&](const tune::Setting& setting) { return predictor.predict(setting); },
       .measure =
           [&](const train::TrainOptions& run, const tune::ShortRun& length) {
             return tune::measure_run(run, length, stop);
           },
       .elapsed_s = [start] { return seconds_since(start); }},
      line);
}

// A file's name holds where the profile is used, too.
std::string lasting_name(const std::string& hardware) {
  std::error_code ignored;
  const bool is_file = std::filesystem::exists(hardware, ignored);
  return is_file ? std::filesystem::absolute(hardware, ignored).string() : hardware;
}

tune::SavedSettings profile_of(const tune::Outcome& outcome, const train::TrainOptions& options,
                               const std::string& hardware) {
  tune::SavedSettings profile{.flags = tune::flags_of(outcome.best().setting),
                              .made_for = tune::made_for(options)};
  if (!hardware.empty()) profile.flags.push_back({"hardware", lasting_name(hardware)});
  return profile;
}

}  // namespace

int tune_command(Arguments arguments) {
  train::TrainOptions options;
  TuneExtras extras;
  CLI::App app("Looks for faster settings and measures them against the flags given.",
               "ebbtide tune");
  add_config_flag(app);
  add_tune_flags(app, options, extras);
  if (parse(app, arguments) == Parsed::kHelpShown) return 0;
  tune::Fixed fixed = fixed_flags(app, extras);
  settle_local_run(app, options, extras);
  check_output_file("--save-profile", extras.save_profile, extras.overwrite);

  const tune::Outcome outcome =
      run({.start = options, .fixed = std::move(fixed), .time_limit_s = extras.time_limit_s});
  // Printed first: what took minutes to find is not lost with a disk that is full.
  const std::string file = extras.save_profile.string();
  const bool is_json = extras.output == TuneOutput::kJson;
  report::print_text(stdout, is_json ? tune::json(outcome, file) + "\n" : tune::text(outcome));
  tune::write_profile(
      extras.save_profile,
      tune::profile_text(profile_of(outcome, options, extras.hardware), tune::notes(outcome)));
  if (!is_json)
    report::print_text(
        stdout, fmt::format("saved {}; use it with ebbtide train --profile {}\n", file, file));
  return 0;
}

}  // namespace ebbtide::cli
