// --profile FILE: settings that `ebbtide tune` saved.
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>

#include "src/cli/flags.hpp"
#include "src/train/options.hpp"
#include "src/tune/saved_settings.hpp"

namespace ebbtide::cli {

void add_profile_flag(Flags& flags, std::filesystem::path& target);

// Sets each flag of the profile that was given neither among the arguments nor in a config file,
// and returns it without the others. `options` are what the app's flags are bound to. Warns where
// the profile was made for another run, and says where its chunks change bits. Requires that
// arguments and config file were parsed. Throws Error(kBadUsage).
tune::SavedSettings apply_profile(CLI::App& app, const std::filesystem::path& path,
                                  const train::TrainOptions& options);

// `flag` without dashes.
bool sets(const tune::SavedSettings& profile, std::string_view flag);

}  // namespace ebbtide::cli
