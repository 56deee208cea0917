// The flags of `ebbtide plan`: those of `train` that say what is run, the machine, what to print.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

#include "src/train/options.hpp"
#include "src/tune/saved_settings.hpp"

namespace ebbtide::cli {

enum class Output : std::uint8_t { kText, kJson };
enum class Compared : std::uint8_t { kNothing, kStrategies };
enum class Length : std::uint8_t { kAsGiven, kLongest };

struct PlanExtras {
  std::string hardware;           // a known machine or a hardware file; empty: the machine at hand
  std::filesystem::path profile;  // settings saved by tune; empty: none
  tune::SavedSettings applied;    // what the profile has set, once the command applied it
  std::int64_t ranks = 1;
  Output output = Output::kText;
  Compared compared = Compared::kNothing;
  Length length = Length::kAsGiven;
  std::filesystem::path trace;   // empty: none
  std::filesystem::path report;  // empty: none
  std::string explain;           // a kind of value, one value or a parameter; empty: nothing
};

void add_plan_flags(CLI::App& app, train::TrainOptions& options, PlanExtras& extras);

// Checks what flags mean together. Throws Error(kBadUsage).
void check_together(const train::TrainOptions& options, const PlanExtras& extras);

}  // namespace ebbtide::cli
