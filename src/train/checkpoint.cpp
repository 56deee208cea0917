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
constexpr int kStateFormat = 1;

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

void write(const fs::path& path, const Tensors& tensors, ModelState& state) {
  model::write_safetensors(
      path, tensors.specs, {{"format", "pt"}},
      [&](const model::TensorSpec& tensor, std::uint64_t offset, std::span<std::byte> out) {
        state.read(tensors.homes.at(tensor.name), offset, out);
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

nlohmann::json read_state(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) bad_file(path, "cannot be read");
  nlohmann::json state = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (state.is_discarded() || !state.is_object()) bad_file(path, "is not a JSON object");
  if (state.value("format", nlohmann::json()) != kStateFormat)
    bad_file(path, fmt::format("has another format than {}", kStateFormat));
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

ModelState::FloatSource tensor_source(const SafetensorsFile& file, const fs::path& path,
                                      const std::string& suffix) {
  return [&file, path, suffix](const model::Parameter& parameter, std::int64_t first,
                               std::span<float> values) {
    const std::string name = parameter.name + suffix;
    const model::TensorInfo* tensor = file.find(name);
    if (tensor == nullptr) bad_file(path, fmt::format("has no tensor '{}'", name));
    if (tensor->shape != shape_of(parameter))
      bad_file(path, fmt::format("tensor '{}' has shape {}, the model needs {}", name,
                                 shape_text(tensor->shape), shape_text(shape_of(parameter))));
    file.read_floats(name, static_cast<std::uint64_t>(first), values);
  };
}

}  // namespace

void write_checkpoint(const fs::path& directory, const model::ModelConfig& config,
                      ModelState& state, const Position& position, const Settings& settings) {
  const fs::path state_directory = directory / kStateDirectory;
  fs::create_directory(state_directory);
  write_text(directory / "config.json", model::write_config(config, state.dtype()));
  write(directory / kWeightsFile, weights(state), state);
  write(state_directory / kOptimizerFile, optimizer_state(state), state);
  const nlohmann::json json = {{"format", kStateFormat},
                               {"step", position.step},
                               {"updates", position.updates},
                               {"sequences", position.sequences},
                               {"settings", settings}};
  write_text(state_directory / kStateFile, json.dump(2) + "\n");
}

Position read_position(const fs::path& directory, const Settings& settings) {
  const fs::path path = directory / kStateDirectory / kStateFile;
  const nlohmann::json state = read_state(path);
  check_settings(state, settings, path);
  return {.step = count(state, "step", path),
          .updates = count(state, "updates", path),
          .sequences = static_cast<std::uint64_t>(count(state, "sequences", path))};
}

void read_checkpoint(const fs::path& directory, ModelState& state) {
  const fs::path weights_path = directory / kWeightsFile;
  const fs::path optimizer_path = directory / kStateDirectory / kOptimizerFile;
  const SafetensorsFile optimizer(optimizer_path);
  if (state.has_master()) {
    state.set_weights(tensor_source(optimizer, optimizer_path, ".master"));
  } else {
    const SafetensorsFile weights_file(weights_path);
    state.set_weights(tensor_source(weights_file, weights_path, ""));
  }
  state.set_means(tensor_source(optimizer, optimizer_path, ".m"));
  state.set_squares(tensor_source(optimizer, optimizer_path, ".v"));
}

void read_weights(const fs::path& directory, ModelState& state) {
  const fs::path path = directory / kWeightsFile;
  const SafetensorsFile file(path);
  state.set_weights(tensor_source(file, path, ""));
  state.clear_moments();
}

}  // namespace ebbtide::train
