// Where the weights that a run begins with come from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "src/train/options.hpp"

namespace ebbtide::train {

// The directory that --model names; nothing where it names a built-in shape, which it also does
// where there is a directory of that name (./demo is that).
std::optional<std::filesystem::path> model_directory(const TrainOptions& options);

struct WeightSource {
  enum class Kind : std::uint8_t { kRandom, kModel, kCheckpoint };
  Kind kind = Kind::kRandom;
  std::filesystem::path directory;  // of the model or the checkpoint; empty for kRandom
};

// The checkpoint to go on from, else the model directory's model.safetensors, else none. Throws
// Error(kBadUsage) where there is no such checkpoint, or where the model directory has weights in
// files that are not read: training from random ones is not what was meant.
WeightSource find_weights(const TrainOptions& options);

// As printed: "random, seed 1", "from DIR/model.safetensors", "from checkpoint DIR".
std::string describe(const WeightSource& source, std::uint64_t seed);

}  // namespace ebbtide::train
