#include "src/train/sources.hpp"

#include <fmt/format.h>

#include <xxhash.h>

#include <algorithm>
#include <span>
#include <vector>

#include "ebbtide/error.hpp"
#include "src/train/data.hpp"
#include "src/train/own_text.hpp"

namespace ebbtide::train {
namespace {

namespace fs = std::filesystem;

// Which of a DataSource's windows are read.
enum class Windows : std::uint8_t { kSampled, kInOrder };

class FileSequences final : public SequenceSource {
 public:
  FileSequences(const DataOptions& options, Windows windows)
      : data_(options), windows_(windows), tokens_(static_cast<std::size_t>(options.seq_len)) {}

  void read(std::uint64_t index, Sequence& out) override {
    out.tokens.resize(tokens_);
    out.targets.resize(tokens_);
    if (windows_ == Windows::kSampled)
      data_.sample(index, out.tokens, out.targets);
    else
      data_.window(index, out.tokens, out.targets);
  }
  std::string fingerprint() const override {
    return fmt::format("{} tokens, {:016x} at the ends", data_.token_count(), hash_of_ends());
  }
  std::uint64_t window_count() const { return data_.window_count(); }

 private:
  // Of the first and the last window.
  std::uint64_t hash_of_ends() const {
    std::vector<std::uint32_t> ids(4 * tokens_);
    const std::span<std::uint32_t> all(ids);
    data_.window(0, all.first(tokens_), all.subspan(tokens_, tokens_));
    data_.window(data_.window_count() - 1, all.subspan(2 * tokens_, tokens_), all.last(tokens_));
    return XXH3_64bits(ids.data(), ids.size() * sizeof(ids[0]));
  }

  DataSource data_;
  Windows windows_;
  std::size_t tokens_;
};

EvaluationSource open_evaluation(const TrainOptions& options, DataOptions data) {
  data.files = options.evaluation.data;
  // Held-out data may be shorter than a sequence; of one token and its target it makes one window.
  data.seq_len = 1;
  const std::uint64_t pairs = DataSource(data).token_count() - 1;
  data.seq_len =
      static_cast<std::int64_t>(std::min(pairs, static_cast<std::uint64_t>(options.run.seq_len)));
  auto source = std::make_unique<FileSequences>(data, Windows::kInOrder);
  const std::uint64_t count = source->window_count();
  return {std::move(source), count, data.seq_len};
}

}  // namespace

fs::path own_text() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  for (const fs::path& path :
       {program.parent_path().parent_path() / kInstalledText, fs::path(kSourceText)}) {
    if (fs::exists(path, ignored)) return path;
  }
  throw Error(Errc::kBadUsage, "the project's own text is not installed; give --data PATH");
}

Sources open_sources(const TrainOptions& options, const model::ModelConfig& config) {
  const DataOptions data{.files = options.data.empty() ? std::vector{own_text()} : options.data,
                         .headerless_type = options.headerless_type,
                         .vocab = config.vocab,
                         .seq_len = options.run.seq_len,
                         .seed = options.run.seed};
  Sources sources;
  sources.training = std::make_unique<FileSequences>(data, Windows::kSampled);
  if (options.evaluation.every > 0) sources.evaluation = open_evaluation(options, data);
  return sources;
}

}  // namespace ebbtide::train
