#include "src/cli/tune_flags.hpp"

#include <algorithm>

#include "src/cli/flags.hpp"
#include "src/cli/profile_flag.hpp"
#include "src/cli/train_flags.hpp"

namespace ebbtide::cli {
namespace {

constexpr NumberRange kTimeLimit{.least = 1, .most = 86400};

void add_search(Flags& flags, TuneExtras& extras) {
  flags.names({"--free", "FLAG...",
               "flags (without dashes) whose values are only where tuning starts; all: each",
               "what is given stays"},
              extras.free, {tune::kTunable.begin(), tune::kTunable.end()});
  flags.duration({"--time-limit", "SECONDS|Xm", "about how long to tune", "5m"},
                 extras.time_limit_s, kTimeLimit);
}

void add_outputs(Flags& flags, TuneExtras& extras) {
  flags.path(
      {"--save-profile", "FILE", "file of the settings, for train --profile", "profile.toml"},
      extras.save_profile);
  flags.enable({"--force", "", "replace the file if it is there", "off"}, extras.overwrite,
               Overwrite::kReplace);
  flags.enable({"--json", "", "print one JSON object and nothing else", "off"}, extras.output,
               TuneOutput::kJson);
}

}  // namespace

void add_tune_flags(CLI::App& app, train::TrainOptions& options, TuneExtras& extras) {
  Flags flags(app);
  add_search(flags, extras);
  add_outputs(flags, extras);
  add_local_run_flags(app, options, extras);
  add_local_run_flags_not_built(app);
  refuse_outputs(app, "is of no use to 'ebbtide tune', whose runs keep nothing; leave it out");
  refuse_steps(app,
               "is of no use to 'ebbtide tune', which runs what --time-limit allows; leave it "
               "out");
  app.footer(
      "The start is what train would do with the same flags. A flag that is given stays as it is, "
      "unless --free names it; what a --profile says is only a start. Exit status: 0 done, also "
      "when it was interrupted and ends with the best so far.");
}

tune::Fixed fixed_flags(const CLI::App& app, const TuneExtras& extras) {
  tune::Fixed fixed;
  for (const std::string_view name : tune::kTunable) {
    const bool is_free = std::ranges::find(extras.free, name) != extras.free.end();
    if (!is_free && app.get_option("--" + std::string(name))->count() > 0) fixed.emplace(name);
  }
  return fixed;
}

}  // namespace ebbtide::cli
