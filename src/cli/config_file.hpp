// The file that --config names. It is given by whoever runs the program, but mistaken for another
// often enough: it must be a regular file of at most kMostConfigBytes.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>

#include "src/cli/command.hpp"

namespace ebbtide::cli {

inline constexpr std::uint64_t kMostConfigBytes = std::uint64_t{1} << 20;

// Adds --config. While arguments are parsed, a file that cannot be one throws Error(kBadUsage).
void add_config_flag(CLI::App& app);

// "FILE, line 3: " for a flag that the config file gives and the arguments do not; else empty. The
// line is left out where it is not found.
std::string place_in_config(const CLI::App& app, Arguments arguments, const std::string& flag);

}  // namespace ebbtide::cli
