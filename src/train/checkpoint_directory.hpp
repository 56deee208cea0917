// A directory of checkpoints, one a subdirectory "step-00000010", and links at its top that make
// the newest one readable as a model directory of its own:
//
//   DIR/step-00000010/{config.json, model.safetensors, ebbtide-state/...}
//   DIR/latest -> step-00000010
//   DIR/config.json -> latest/config.json, and so on for each entry of a checkpoint
//
// Invariants
//  1. A checkpoint appears under its name complete and on the disk, or not at all: it is written
//     under a hidden name, synchronised, then renamed. A process killed at any moment leaves the
//     checkpoint before it loadable.
//  2. Only entries that this class named are ever removed, and only links that it made replaced.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "src/train/directory_lock.hpp"

namespace ebbtide::train {

class CheckpointDirectory {
 public:
  // Makes the directory where it is missing. Throws the system's error.
  explicit CheckpointDirectory(std::filesystem::path path);

  // This process saves here as long as the object lives. What runs that were killed in a save have
  // left is removed, unless another process saves here too.
  void claim();
  // An empty hidden directory for the files of this step; what a killed run left there is removed.
  std::filesystem::path begin(std::int64_t step);
  // Publishes what begin() gave. Blocks until it is on the disk.
  void commit(std::int64_t step);
  // Removes what begin() gave, as far as that can be.
  void discard(std::int64_t step) noexcept;
  // Removes all but the newest `keep` checkpoints (0: none is removed).
  void prune(std::int64_t keep);
  // Steps of the checkpoints here, ascending.
  std::vector<std::int64_t> steps() const;

 private:
  std::filesystem::path final_path(std::int64_t step) const;
  std::filesystem::path partial_path(std::int64_t step) const;
  void remove_leftovers() const;
  void link_latest(std::int64_t step);
  void replace_link(const std::filesystem::path& target, const std::filesystem::path& name);

  std::filesystem::path path_;
  std::optional<DirectoryLock> lock_;
};

// Throws Error(kBadUsage) where an entry of the directory, a model's own file or a link to
// elsewhere, stands where a link of ours must go. Changes nothing; the directory may be missing.
void check_takes_checkpoints(const std::filesystem::path& path);

// The checkpoint that `path` means: itself, or the newest in a directory of checkpoints.
// Throws Error(kBadUsage) where there is none.
std::filesystem::path find_checkpoint(const std::filesystem::path& path);

inline constexpr char kStateDirectory[] = "ebbtide-state";

}  // namespace ebbtide::train
