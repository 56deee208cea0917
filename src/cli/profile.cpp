// `ebbtide profile`: runs a few steps and says where their time went and what would shorten them.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "ebbtide/error.hpp"
#include "kernels/kernels.hpp"
#include "src/cli/command.hpp"
#include "src/cli/config_file.hpp"
#include "src/cli/message.hpp"
#include "src/cli/parse.hpp"
#include "src/cli/profile_flags.hpp"
#include "src/cli/signals.hpp"
#include "src/cli/status_line.hpp"
#include "src/profile/advice.hpp"
#include "src/profile/profile_json.hpp"
#include "src/profile/profile_text.hpp"
#include "src/train/resolve_options.hpp"

namespace ebbtide::cli {
namespace {

// Shows how far the run is and hands on what it is told.
class Watched final : public train::TrainObserver {
 public:
  Watched(profile::StepSummary& summary, StatusLine& line, std::int64_t steps)
      : summary_(summary), line_(line), steps_(steps) {}

  void planned(const train::RunFacts& facts, const report::MemoryBill& bill) override {
    summary_.planned(facts, bill);
    line_.show(fmt::format("step 1 of {}", steps_));
  }
  void stepped(const report::StepReport& step) override {
    summary_.stepped(step);
    line_.show(fmt::format("step {} of {}", step.step + 1, steps_));
  }
  void warned(const std::string& warning) override {
    line_.clear();
    print_message("warning: ", warning.c_str());
  }
  bool wants_record(std::int64_t step) const override { return summary_.wants_record(step); }
  void recorded(const report::StepRecord& record) override { summary_.recorded(record); }

 private:
  profile::StepSummary& summary_;
  StatusLine& line_;
  const std::int64_t steps_;
};

// What was measured is not lost with an interrupted search.
void advise(profile::Profile& profile, const train::TrainOptions& options, train::Stop& stop,
            StatusLine& line) {
  try {
    profile::advise(profile, options, [&](const std::string& flags) {
      stop.throw_if_requested();
      line.show(flags.empty() ? "simulating the run" : fmt::format("simulating {}", flags));
    });
  } catch (const Error& error) {
    if (error.code() != make_error_code(Errc::kCancelled)) throw;
    line.clear();
    print_message("note: ", "interrupted before all changes of flags were tried: no advice");
  }
}

profile::Profile run(const train::TrainOptions& options, const ProfileExtras& extras) {
  train::Stop stop;
  const SignalWatcher watcher([&stop](const std::string& signal) { stop.request(signal); });
  StatusLine line(stderr);
  profile::StepSummary summary(extras.skip_first, train::rates_of(options));
  Watched watched(summary, line, options.run.steps);
  train::train(options, watched, stop);
  profile::Profile profile = summary.profile();
  profile.usable_threads = kernels::usable_cpus();
  if (extras.advice == Advice::kSearched) advise(profile, options, stop, line);
  return profile;
}

}  // namespace

int profile_command(Arguments arguments) {
  train::TrainOptions options;
  ProfileExtras extras;
  CLI::App app("Runs a few steps and reports where their time went.", "ebbtide profile");
  add_config_flag(app);
  add_profile_flags(app, options, extras);
  if (parse(app, arguments) == Parsed::kHelpShown) return 0;
  settle_local_run(app, options, extras);
  options.run.steps = extras.skip_first + extras.active_steps;
  const profile::Profile profile = run(options, extras);
  if (extras.output == Output::kJson)
    fmt::print("{}\n", profile::to_json(profile).dump());
  else
    fmt::print("{}{}", profile::verdict_text(profile), profile::tables_text(profile));
  return 0;
}

}  // namespace ebbtide::cli
