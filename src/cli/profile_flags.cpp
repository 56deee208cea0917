#include "src/cli/profile_flags.hpp"

#include "src/cli/flags.hpp"

namespace ebbtide::cli {
namespace {

constexpr Range kSkipped{.least = 0, .most = 1000};
constexpr Range kActive{.least = 1, .most = 1000};

// Of a run that is measured and thrown away nothing is kept.
void refuse_outputs(CLI::App& app, Flags& flags) {
  for (const char* flag : {"--log-json", "--trace", "--report", "--checksum", "--save",
                           "--save-every", "--keep", "--resume", "--dry-run"})
    flags.of_another(flag, "is a flag of 'ebbtide train'; a profile keeps nothing, leave it out");
  for (const char* flag : {"--steps", "--eval-every", "--eval-data"}) {
    app.remove_option(app.get_option(flag));
    flags.of_another(flag,
                     "is a flag of 'ebbtide train'; a profile runs --skip-first and then "
                     "--active-steps steps, leave it out");
  }
}

}  // namespace

void add_profile_flags(CLI::App& app, train::TrainOptions& options, ProfileExtras& extras) {
  Flags flags(app);
  flags.count({"--skip-first", "N", "steps that run before the measured ones", "2"},
              extras.skip_first, kSkipped);
  flags.count({"--active-steps", "N", "steps that are measured", "3"}, extras.active_steps,
              kActive);
  flags.enable({"--json", "", "print one JSON object and nothing else", "off"}, extras.output,
               Output::kJson);
  flags.enable({"--no-advice", "", "only measure; do not plan what would be faster", "off"},
               extras.advice, Advice::kNone);
  add_local_run_flags(app, options, extras);
  add_local_run_flags_not_built(app);
  refuse_outputs(app, flags);
}

}  // namespace ebbtide::cli
