// What a checkpoint holds: a model directory that transformers loads unchanged, and beside it in
// "ebbtide-state" what a bit-exact resume needs (moments, master weights, counters, settings).
//
// Invariants
//  1. state.json holds the XXH3 of every tensor and of itself; a resume compares each byte that it
//     takes over. Checkpoints of format 1 hold none: they are read unchecked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "src/model/config.hpp"
#include "src/train/model_state.hpp"
#include "src/train/tensor_digest.hpp"

namespace ebbtide::train {

// Where a run stands.
struct Position {
  std::int64_t step = 0;        // steps done
  std::int64_t updates = 0;     // of these, those that changed the weights: AdamW's step count
  std::uint64_t sequences = 0;  // sequences read

  bool operator==(const Position&) const = default;
};

// By flag; a resumed run must have the same.
using Settings = std::map<std::string, std::string>;

// Writes all files of a checkpoint into an empty directory. Blocks. Throws the system's error.
void write_checkpoint(const std::filesystem::path& directory, const model::ModelConfig& config,
                      ModelState& state, const Position& position, const Settings& settings);

struct SavedState {
  Position position;
  Digests digests;  // of all tensors; empty: the checkpoint has none
};

// Reads "ebbtide-state/state.json". Throws Error(kBadFile) where it is malformed or damaged, or
// Error(kBadUsage) that names the first setting that differs, with both values.
SavedState read_state(const std::filesystem::path& directory, const Settings& settings);

// Sets weights and moments from a checkpoint. Throws Error(kBadFile) naming a tensor that is
// missing, has another shape or is not what was saved.
void read_checkpoint(const std::filesystem::path& directory, const Digests& digests,
                     ModelState& state);

inline constexpr char kWeightsFile[] = "model.safetensors";
// Sets weights from "model.safetensors"; the moments are cleared. Throws as read_checkpoint.
void read_weights(const std::filesystem::path& directory, ModelState& state);

}  // namespace ebbtide::train
