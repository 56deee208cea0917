// --profile FILE: settings that `ebbtide tune` saved.
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>

#include "src/cli/flags.hpp"
#include "src/train/options.hpp"
#include "src/tune/profile.hpp"

namespace ebbtide::cli {

void add_profile_flag(Flags& flags, std::filesystem::path& target);

// Sets each flag of the profile that was given neither among the arguments nor in a config file.
// Requires that both were parsed. Throws Error(kBadUsage).
tune::Profile apply_profile(CLI::App& app, const std::filesystem::path& path);

// Warns where the profile was made for another run, and says where its chunks change bits.
void tell_of_profile(const tune::Profile& profile, const std::filesystem::path& path,
                     const train::TrainOptions& options);

}  // namespace ebbtide::cli
