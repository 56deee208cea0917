// Training data: one stream of tokens, the concatenation of files in the given order, and windows
// of it.
//
// A micro-step's window is a pure function of (files, seed, index of the micro-step): a resumed run
// needs only its step counter, and one seed gives one sequence of windows on every machine. Windows
// may start at any token and may span files. Reading is thread-safe and allocates nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernels.hpp"
#include "src/train/token_file.hpp"

namespace ebbtide::train {

using kernels::kIgnoredTarget;

// Whether the id kIgnoredTarget (0xFFFFFFFF, in uint32 files) means "no target here". As a target
// it is passed on; where it is an input, the model reads kMaskedInput instead.
enum class MaskedTargets : std::uint8_t { kRefuse, kAllow };
inline constexpr std::uint32_t kMaskedInput = 0;

struct DataOptions {
  std::vector<std::filesystem::path> files{};
  TokenType headerless_type = TokenType::kFromHeader;
  MaskedTargets masked = MaskedTargets::kRefuse;
  std::int64_t vocab = 0;
  std::int64_t seq_len = 0;
  std::uint64_t seed = 0;
};

// Where a window starts.
struct Sample {
  std::size_t file = 0;        // index into the files
  std::uint64_t offset = 0;    // tokens from the file's first token
  std::uint64_t position = 0;  // tokens from the stream's first token
};

class DataSource {
 public:
  // Checks every token of files of at most kCheckedWhole; those of longer files are checked when
  // they are read.
  // Throws Error(kBadData): a file missing, unreadable, empty or malformed, fewer tokens than
  // seq_len + 1, an id outside the vocabulary.
  explicit DataSource(const DataOptions& options);

  std::uint64_t token_count() const { return starts_.back(); }
  const std::string& path(std::size_t file) const { return files_[file].path(); }

  // The window of a micro-step: `tokens` (seq_len) and `targets` (seq_len), the tokens one later.
  // Throws Error(kBadData) naming file, position, id and vocabulary for an id outside it.
  Sample sample(std::uint64_t index, std::span<std::uint32_t> tokens,
                std::span<std::uint32_t> targets) const;

  // Windows for evaluation, in order: no target is in two of them, and all but the last
  // (token_count() - 1) % seq_len are in one.
  std::uint64_t window_count() const;
  Sample window(std::uint64_t index, std::span<std::uint32_t> tokens,
                std::span<std::uint32_t> targets) const;

  static constexpr std::uint64_t kCheckedWholeBytes = std::uint64_t{256} << 20;

 private:
  void check_size() const;
  void check_whole(const TokenFile& file) const;
  void check_ids(const TokenFile& file, std::uint64_t first,
                 std::span<const std::uint32_t> ids) const;
  bool may_leave_vocabulary(const TokenFile& file) const;
  Sample locate(std::uint64_t position) const;
  void read_checked(std::uint64_t position, std::span<std::uint32_t> ids) const;
  void fill(std::uint64_t position, std::span<std::uint32_t> tokens,
            std::span<std::uint32_t> targets) const;

  std::vector<TokenFile> files_;
  std::vector<std::uint64_t> starts_;  // position of each file's first token, then the total
  MaskedTargets masked_;
  std::uint64_t vocab_;
  std::uint64_t seq_len_;
  std::uint64_t seed_;
};

}  // namespace ebbtide::train
