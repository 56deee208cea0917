#include "src/train/weight_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <vector>

#include "ebbtide/error.hpp"
#include "src/model/config.hpp"
#include "src/train/checkpoint.hpp"
#include "src/train/checkpoint_directory.hpp"

namespace ebbtide::train {
namespace {

namespace fs = std::filesystem;

bool is_data(const TrainOptions& options, const fs::path& path) {
  const auto is_it = [&path](const fs::path& data) {
    std::error_code none;
    return fs::equivalent(data, path, none);
  };
  return std::ranges::any_of(options.data, is_it) ||
         std::ranges::any_of(options.evaluation.data, is_it);
}

bool is_named_like_weights(const fs::path& path) {
  return path.filename() == "model.safetensors.index.json" || path.extension() == ".safetensors" ||
         path.extension() == ".bin";
}

// The first by name of the weights that are not read. Token files are named .bin too.
std::optional<std::string> other_weights(const TrainOptions& options) {
  std::optional<std::string> first;
  for (const fs::directory_entry& entry : fs::directory_iterator(options.model)) {
    if (!is_named_like_weights(entry.path()) || is_data(options, entry.path())) continue;
    const std::string name = entry.path().filename();
    if (!first || name < *first) first = name;
  }
  return first;
}

}  // namespace

std::optional<fs::path> model_directory(const TrainOptions& options) {
  const std::vector<std::string> shapes = model::preset_names();
  if (std::ranges::find(shapes, options.model) != shapes.end()) return std::nullopt;
  return fs::is_directory(options.model) ? std::optional<fs::path>(options.model) : std::nullopt;
}

WeightSource find_weights(const TrainOptions& options) {
  using Kind = WeightSource::Kind;
  if (!options.checkpoint.resume.empty())
    return {Kind::kCheckpoint, find_checkpoint(options.checkpoint.resume)};
  const std::optional<fs::path> directory = model_directory(options);
  if (!directory) return {};
  const fs::path weights = *directory / kWeightsFile;
  if (fs::exists(weights)) return {Kind::kModel, *directory};
  if (fs::is_symlink(weights))
    throw Error(Errc::kBadUsage,
                fmt::format("--model {}: {} is a link to {}, which is missing", options.model,
                            kWeightsFile, fs::read_symlink(weights).string()));
  if (const std::optional<std::string> other = other_weights(options))
    throw Error(Errc::kBadUsage,
                fmt::format("--model {}: its weights are in {}, but one file, {}, is read; write "
                            "that with transformers: AutoModelForCausalLM.from_pretrained(DIR)"
                            ".save_pretrained(NEW, max_shard_size=\"1000GB\")",
                            options.model, *other, kWeightsFile));
  return {};
}

std::string describe(const WeightSource& source, std::uint64_t seed) {
  switch (source.kind) {
    case WeightSource::Kind::kRandom:
      return fmt::format("random, seed {}", seed);
    case WeightSource::Kind::kModel:
      return fmt::format("from {}", (source.directory / kWeightsFile).string());
    case WeightSource::Kind::kCheckpoint:
      return fmt::format("from checkpoint {}", source.directory.string());
  }
  return {};
}

}  // namespace ebbtide::train
