#include "src/train/checkpoint.hpp"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <unordered_map>
#include <vector>

#include "ebbtide/error.hpp"
#include "src/model/new_file.hpp"
#include "src/model/safetensors.hpp"
#include "src/train/checkpoint_directory.hpp"

namespace ebbtide::train {
namespace {

namespace fs = std::filesystem;
using model::SafetensorsFile;

constexpr char kOptimizerFile[] = "optimizer.safetensors";
constexpr char kStateFile[] = "state.json";
constexpr int kStateFormat = 2;
constexpr int kFormatWithoutDigests = 1;
constexpr char kStateDigest[] = "state_xxh3";
constexpr char kAdvice[] = "resume from another checkpoint, or copy this one again";

std::vector<std::int64_t> shape_of(const model::Parameter& parameter) {
  const bool matrix = parameter.role == model::ParameterRole::kMatrix ||
                      parameter.role == model::ParameterRole::kEmbedding;
  if (matrix) return {parameter.rows, parameter.cols};
  return {parameter.count()};
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "[" : ", ") + std::to_string(size);
  return text + "]";
}

// Tensors to write and the homes that they come from.
struct Tensors {
  std::vector<model::TensorSpec> specs;
  std::unordered_map<std::string, Home> homes;

  void add(std::string name, model::TensorDType dtype, const model::Parameter& parameter,
           const Home& home) {
    homes.emplace(name, home);
    specs.push_back({std::move(name), dtype, shape_of(parameter)});
  }
};

Tensors weights(const ModelState& state) {
  Tensors tensors;
  const auto dtype =
      state.dtype() == DType::kBf16 ? model::TensorDType::kBf16 : model::TensorDType::kF32;
  for (std::size_t i = 0; i < state.parameters().size(); ++i)
    tensors.add(state.parameters()[i].name, dtype, state.parameters()[i],
                state.homes().parameters[i].weight);
  return tensors;
}

Tensors optimizer_state(const ModelState& state) {
  constexpr auto kF32 = model::TensorDType::kF32;
  Tensors tensors;
  for (std::size_t i = 0; i < state.parameters().size(); ++i) {
    const model::Parameter& parameter = state.parameters()[i];
    const model::ParameterHomes& homes = state.homes().parameters[i];
    if (state.has_master()) tensors.add(parameter.name + ".master", kF32, parameter, homes.master);
    tensors.add(parameter.name + ".m", kF32, parameter, homes.m);
    tensors.add(parameter.name + ".v", kF32, parameter, homes.v);
  }
  return tensors;
}

// Adds what was written to the digests.
void write(const fs::path& path, const Tensors& tensors, ModelState& state, Digests& digests) {
  TensorDigest digest;
  model::write_safetensors(
      path, tensors.specs, {{"format", "pt"}},
      [&](const model::TensorSpec& tensor, std::uint64_t offset, std::span<std::byte> out) {
        state.read(tensors.homes.at(tensor.name), offset, out);
        digest.add(offset, out);
        digests[tensor.name] = digest.digest();
      });
}

void write_text(const fs::path& path, const std::string& text) {
  model::NewFile file(path);
  file.append(std::as_bytes(std::span(text)));
  file.commit();
}

[[noreturn]] void bad_file(const fs::path& path, const std::string& what) {
  throw Error(Errc::kBadFile, fmt::format("{}: {}", path.string(), what));
}

// Of all that the state holds beside this digest. Keys are sorted, so equal states give one text.
std::string digest_of_state(nlohmann::json state) {
  state.erase(kStateDigest);
  return digest_of(state.dump());
}

bool has_digests(const nlohmann::json& state) {
  return state.at("format") != kFormatWithoutDigests || state.contains(kStateDigest);
}

nlohmann::json read_state_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) bad_file(path, "cannot be read");
  nlohmann::json state = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (state.is_discarded() || !state.is_object()) bad_file(path, "is not a JSON object");
  const nlohmann::json format = state.value("format", nlohmann::json());
  if (format != kStateFormat && format != kFormatWithoutDigests)
    bad_file(path, fmt::format("has another format than {}", kStateFormat));
  if (has_digests(state) && state.value(kStateDigest, nlohmann::json()) != digest_of_state(state))
    bad_file(path, fmt::format("is damaged: it is not what was saved; {}", kAdvice));
  return state;
}

std::int64_t count(const nlohmann::json& state, const char* key, const fs::path& path) {
  const auto at = state.find(key);
  if (at == state.end() || !at->is_number_unsigned() ||
      at->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
    bad_file(path, fmt::format("'{}' is not a count", key));
  return at->get<std::int64_t>();
}

void check_settings(const nlohmann::json& state, const Settings& settings, const fs::path& path) {
  const auto saved = state.find("settings");
  if (saved == state.end() || !saved->is_object()) bad_file(path, "has no settings");
  for (const auto& [flag, value] : settings) {
    const auto at = saved->find(flag);
    if (at == saved->end() || !at->is_string())
      bad_file(path, fmt::format("has no setting '{}'", flag));
    if (*at != value)
      throw Error(Errc::kBadUsage, fmt::format("--resume: the checkpoint has {} {}, this run {}",
                                               flag, at->get<std::string>(), value));
  }
}

// A file of tensors that are compared with their digests while they are read.
class CheckedTensors {
 public:
  // Requires that `digests` outlive it; empty: nothing is compared.
  CheckedTensors(fs::path path, const Digests& digests)
      : path_(std::move(path)), file_(path_), digests_(digests) {}

  // Of the tensors that are named as a parameter and the suffix. Requires that each is read in
  // order.
  ModelState::FloatSource source(const std::string& suffix) {
    return [this, suffix](const model::Parameter& parameter, std::int64_t first,
                          std::span<float> values) { read(parameter, suffix, first, values); };
  }

 private:
  void read(const model::Parameter& parameter, const std::string& suffix, std::int64_t first,
            std::span<float> values) {
    const std::string name = parameter.name + suffix;
    const model::TensorInfo* tensor = file_.find(name);
    if (tensor == nullptr) bad_file(path_, fmt::format("has no tensor '{}'", name));
    if (tensor->shape != shape_of(parameter))
      bad_file(path_, fmt::format("tensor '{}' has shape {}, the model needs {}", name,
                                  shape_text(tensor->shape), shape_text(shape_of(parameter))));
    file_.read_floats(name, static_cast<std::uint64_t>(first), values);
    if (digests_.empty()) return;
    digest_.add(static_cast<std::uint64_t>(first) * sizeof(float), std::as_bytes(values));
    if (first + static_cast<std::int64_t>(values.size()) == parameter.count()) compare(name);
  }

  void compare(const std::string& name) const {
    const auto saved = digests_.find(name);
    const std::string before = saved == digests_.end() ? "missing" : saved->second;
    if (before != digest_.digest())
      bad_file(path_, fmt::format("tensor '{}' is damaged: its xxh3 was {} when it was saved, is "
                                  "{} now; {}",
                                  name, before, digest_.digest(), kAdvice));
  }

  fs::path path_;
  SafetensorsFile file_;
  const Digests& digests_;
  TensorDigest digest_;
};

}  // namespace

void write_checkpoint(const fs::path& directory, const model::ModelConfig& config,
                      ModelState& state, const Position& position, const Settings& settings) {
  const fs::path state_directory = directory / kStateDirectory;
  fs::create_directory(state_directory);
  write_text(directory / "config.json", model::write_config(config, state.dtype()));
  Digests digests;
  write(directory / kWeightsFile, weights(state), state, digests);
  write(state_directory / kOptimizerFile, optimizer_state(state), state, digests);
  nlohmann::json json = {{"format", kStateFormat},      {"step", position.step},
                         {"updates", position.updates}, {"sequences", position.sequences},
                         {"settings", settings},        {"tensor_xxh3", digests}};
  json[kStateDigest] = digest_of_state(json);
  write_text(state_directory / kStateFile, json.dump(2) + "\n");
}

SavedState read_state(const fs::path& directory, const Settings& settings) {
  const fs::path path = directory / kStateDirectory / kStateFile;
  const nlohmann::json state = read_state_file(path);
  check_settings(state, settings, path);
  SavedState saved{
      .position = {.step = count(state, "step", path),
                   .updates = count(state, "updates", path),
                   .sequences = static_cast<std::uint64_t>(count(state, "sequences", path))},
      .digests = {}};
  if (has_digests(state)) state.at("tensor_xxh3").get_to(saved.digests);
  return saved;
}

void read_checkpoint(const fs::path& directory, const Digests& digests, ModelState& state) {
  CheckedTensors optimizer(directory / kStateDirectory / kOptimizerFile, digests);
  if (state.has_master()) {
    state.set_weights(optimizer.source(".master"));
  } else {
    CheckedTensors weights_file(directory / kWeightsFile, digests);
    state.set_weights(weights_file.source(""));
  }
  state.set_means(optimizer.source(".m"));
  state.set_squares(optimizer.source(".v"));
}

void read_weights(const fs::path& directory, ModelState& state) {
  const Digests none;
  CheckedTensors file(directory / kWeightsFile, none);
  state.set_weights(file.source(""));
  state.clear_moments();
}

}  // namespace ebbtide::train
