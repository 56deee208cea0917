// The flags of `ebbtide tune`: those of `train` that say what is run, which of them may change,
// what to write.
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "src/cli/output_file.hpp"
#include "src/cli/train_flags.hpp"
#include "src/train/options.hpp"
#include "src/tune/setting.hpp"

namespace ebbtide::cli {

enum class TuneOutput : std::uint8_t { kText, kJson };

// What a profile says is only where tuning starts.
struct TuneExtras : LocalRunExtras {
  std::vector<std::string> free;  // flags whose values are only the start
  double time_limit_s = 300;
  std::filesystem::path save_profile = "profile.toml";
  Overwrite overwrite = Overwrite::kRefuse;
  TuneOutput output = TuneOutput::kText;
};

void add_tune_flags(CLI::App& app, train::TrainOptions& options, TuneExtras& extras);

// Flags that were given and are not free. Requires parsed arguments.
tune::Fixed fixed_flags(const CLI::App& app, const TuneExtras& extras);

}  // namespace ebbtide::cli
