// The flags of `ebbtide train`, bound to its options.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

#include "src/train/options.hpp"
#include "src/tune/saved_settings.hpp"

namespace ebbtide::cli {

// What only the command line wants of a run on the machine at hand.
struct LocalRunExtras {
  std::string hardware;           // a known machine or a hardware file; empty: none
  std::filesystem::path profile;  // empty: none
  tune::SavedSettings applied;    // what the profile has set, once it is settled
};

struct TrainExtras : LocalRunExtras {
  std::filesystem::path log_json;  // empty: none
  std::filesystem::path report;    // empty: none
  std::filesystem::path trace;     // empty: none
  std::int64_t trace_steps = 3;    // from the second one on
};

// How the budgets of a subcommand come about where they are not given.
struct BudgetTexts {
  std::string device;
  std::string device_default;
  std::string host;
  std::string host_default;
  std::string nvme;
  std::string nvme_default;
};

// Flags that say what a run is asked to do; `train` and `plan` have them in common.
void add_run_flags(CLI::App& app, train::TrainOptions& options, const BudgetTexts& budgets);
// Those of parts that are not built, in common too.
void add_flags_not_built(CLI::App& app);
// Checks what these mean together. Throws Error(kBadUsage).
void check_run_together(const train::TrainOptions& options);

// What `train`, `profile` and `tune` have in common: a run on the machine at hand.
void add_local_run_flags(CLI::App& app, train::TrainOptions& options, LocalRunExtras& extras);
void add_local_run_flags_not_built(CLI::App& app);
// After parsing: applies the profile, checks what the flags mean together, loads the hardware.
// Throws Error(kBadUsage).
void settle_local_run(CLI::App& app, train::TrainOptions& options, LocalRunExtras& extras);

// For subcommands whose runs keep nothing: refuses the flags of outputs, but those that the
// subcommand has of its own, with `why` they say nothing there.
void refuse_outputs(CLI::App& app, const std::string& why);
// For those that choose themselves how many steps run.
void refuse_steps(CLI::App& app, const std::string& why);

void add_train_flags(CLI::App& app, train::TrainOptions& options, TrainExtras& extras);

// Checks what flags mean together. Throws Error(kBadUsage).
void check_together(const train::TrainOptions& options);

}  // namespace ebbtide::cli
