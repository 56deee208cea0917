#include "src/cli/plan_flags.hpp"

#include <fmt/format.h>

#include "ebbtide/error.hpp"
#include "src/cli/flags.hpp"
#include "src/cli/profile_flag.hpp"
#include "src/cli/train_flags.hpp"

namespace ebbtide::cli {
namespace {

// Far above every machine; past it nothing is learnt.
constexpr Range kRanks{.least = 1, .most = 1 << 20};

void add_machine(Flags& flags, PlanExtras& extras) {
  flags.text({"--hardware", "NAME|FILE", "machine to plan for, with its memory and drives",
              "this machine, at the speeds of a generic two-core CPU"},
             extras.hardware);
  flags.count({"--ranks", "N", "ranks of the run, one a device", "1"}, extras.ranks, kRanks);
}

void add_outputs(Flags& flags, PlanExtras& extras) {
  flags.enable({"--json", "", "print one JSON object and nothing else", "off"}, extras.output,
               Output::kJson);
  flags.enable({"--compare", "", "set the usual strategies' bills beside the plan's", "off"},
               extras.compared, Compared::kStrategies);
  flags.enable(
      {"--max-seq-len", "", "find the longest sequence that fits, whatever --seq-len says", "off"},
      extras.length, Length::kLongest);
  flags.path({"--report", "FILE.html", "page that shows the step as it is expected to run", "none"},
             extras.report);
  flags.path({"--trace", "FILE",
              "Chrome trace of the simulated step, for ui.perfetto.dev or chrome://tracing; of "
              "micro-steps that are alike two",
              "none"},
             extras.trace);
  flags.text({"--explain", "VALUE",
              "say why values live where they do: a kind ('attention output'), one of them "
              "('q (3, 17)': layer, chunk) or a parameter's name",
              "nothing"},
             extras.explain);
}

}  // namespace

void add_plan_flags(CLI::App& app, train::TrainOptions& options, PlanExtras& extras) {
  Flags flags(app);
  add_machine(flags, extras);
  add_outputs(flags, extras);
  add_run_flags(app, options,
                {.device = "hard budget of one card's bytes, whatever the machine has",
                 .device_default = "the card's memory less 1 GiB; as train on this machine",
                 .host = "hard budget of a node's host arena bytes, which its ranks share; 0: none",
                 .host_default = "the node's memory less a sixteenth; as train on this machine",
                 .nvme = "hard budget of a node's swap file bytes, which its ranks share; 0: none",
                 .nvme_default = "the node's drives less a twentieth; as train on this machine"});
  add_profile_flag(flags, extras.profile);
  add_flags_not_built(app);
  refuse_outputs(app, "is a flag of 'ebbtide train'; a plan runs no step, leave it out");
  app.footer(
      "Data, seed, threads, the optimizer's numbers and the I/O flags change no plan: they are "
      "taken so that a command line of 'ebbtide train' works as it is, and files are not looked "
      "at. With --hardware neither is --nvme-path. Exit status: 0 fits, 2 does not fit.");
}

void check_together(const train::TrainOptions& options, const PlanExtras& extras) {
  check_run_together(options);
  if (!extras.explain.empty() && extras.output == Output::kJson)
    throw Error(Errc::kBadUsage, "--explain is for people: leave out --json");
}

}  // namespace ebbtide::cli
