// The flags of `ebbtide profile`: those of `train` that say what is run, how many steps, what to
// print.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>

#include "src/cli/plan_flags.hpp"
#include "src/cli/train_flags.hpp"
#include "src/train/options.hpp"

namespace ebbtide::cli {

enum class Advice : std::uint8_t { kSearched, kNone };

struct ProfileExtras : LocalRunExtras {
  std::int64_t skip_first = 2;
  std::int64_t active_steps = 3;
  Output output = Output::kText;
  Advice advice = Advice::kSearched;
};

void add_profile_flags(CLI::App& app, train::TrainOptions& options, ProfileExtras& extras);

}  // namespace ebbtide::cli
