// The sequences of a run, from the data files that its options name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "src/model/config.hpp"
#include "src/train/options.hpp"
#include "src/train/sequence_source.hpp"

namespace ebbtide::train {

struct EvaluationSource {
  std::unique_ptr<SequenceSource> source;  // null: none
  std::uint64_t count = 0;                 // sequences in it
  std::int64_t tokens = 0;                 // of a sequence; fewer than the run's for short data
};
struct Sources {
  std::unique_ptr<SequenceSource> training;
  EvaluationSource evaluation;
};

// Throws Error(kBadData or kBadUsage) naming the file.
Sources open_sources(const TrainOptions& options, const model::ModelConfig& config);

// The project's own text, where it is installed or in the source tree.
// Throws Error(kBadUsage) where it is missing.
std::filesystem::path own_text();

}  // namespace ebbtide::train
