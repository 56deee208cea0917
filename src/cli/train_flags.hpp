// The flags of `ebbtide train`, bound to its options.
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>

#include "src/train/options.hpp"

namespace ebbtide::cli {

// What only the command line wants.
struct TrainOutputs {
  std::filesystem::path log_json;  // empty: none
};

void add_train_flags(CLI::App& app, train::TrainOptions& options, TrainOutputs& outputs);

// Checks what flags mean together. Throws Error(kBadUsage).
void check_together(const train::TrainOptions& options);

}  // namespace ebbtide::cli
