// A profile: settings that were measured to be fast, and what they were measured for. A TOML file
// of flags by their names, then a table [made-for]; `train --profile` takes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "src/tune/setting.hpp"

namespace ebbtide::tune {

inline constexpr std::uint64_t kMostProfileBytes = std::uint64_t{64} << 10;

struct SavedSettings {
  std::vector<FlagValue> flags;     // of kTunable, and "hardware"
  std::vector<FlagValue> made_for;  // shape and budgets, by flag; the model by its shape

  bool operator==(const SavedSettings&) const = default;
};

// What a run's speed depends on beside its settings, as given: "auto" where a budget is not.
std::vector<FlagValue> made_for(const train::TrainOptions& options);

// `notes` are comments at its head, a line each.
std::string profile_text(const SavedSettings& profile, const std::vector<std::string>& notes);
// Throws Error with the errno.
void write_profile(const std::filesystem::path& path, const std::string& text);

// Throws Error(kBadUsage) naming file, line or key for what is no profile.
SavedSettings parse_profile(std::string_view toml, const std::string& file);
SavedSettings read_profile(const std::filesystem::path& path);

// A line for each thing that the run has otherwise: "--seq-len was 4096, now it is 8192".
std::vector<std::string> differences(const SavedSettings& profile, const train::TrainOptions& now);

}  // namespace ebbtide::tune
