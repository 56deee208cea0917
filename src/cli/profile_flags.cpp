#include "src/cli/profile_flags.hpp"

#include "src/cli/flags.hpp"

namespace ebbtide::cli {
namespace {

constexpr Range kSkipped{.least = 0, .most = 1000};
constexpr Range kActive{.least = 1, .most = 1000};

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
  refuse_outputs(app, "is a flag of 'ebbtide train'; a profile keeps nothing, leave it out");
  refuse_steps(app,
               "is a flag of 'ebbtide train'; a profile runs --skip-first and then --active-steps "
               "steps, leave it out");
}

}  // namespace ebbtide::cli
