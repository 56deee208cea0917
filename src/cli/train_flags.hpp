// The flags of `ebbtide train`, bound to its options.
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>
#include <string>

#include "src/train/options.hpp"

namespace ebbtide::cli {

// What only the command line wants.
struct TrainExtras {
  std::filesystem::path log_json;  // empty: none
  std::string hardware;            // a known machine or a hardware file; empty: none
};

void add_train_flags(CLI::App& app, train::TrainOptions& options, TrainExtras& extras);

// Checks what flags mean together. Throws Error(kBadUsage).
void check_together(const train::TrainOptions& options);

}  // namespace ebbtide::cli
