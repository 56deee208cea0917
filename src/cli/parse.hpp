// Parses the arguments of a subcommand.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>

#include "src/cli/command.hpp"

namespace ebbtide::cli {

// kHelpShown: help was asked for and printed, nothing is to be done.
enum class Parsed : std::uint8_t { kRun, kHelpShown };

// Throws Error(kBadUsage).
Parsed parse(CLI::App& app, Arguments arguments);

}  // namespace ebbtide::cli
