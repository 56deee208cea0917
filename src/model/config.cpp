#include "src/model/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ebbtide/error.hpp"
#include "src/model/config_json.hpp"

namespace ebbtide::model {
namespace {

using Json = nlohmann::json;

// Caps far above every published model; with them no product of two sizes leaves 64 bits.
constexpr std::int64_t kMaxLayers = 10'000;
constexpr std::int64_t kMaxWidth = 1 << 20;  // hidden, heads * head_dim
constexpr std::int64_t kMaxFfn = 1 << 22;
constexpr std::int64_t kMaxVocab = 1 << 24;
constexpr std::int64_t kMaxPositions = std::int64_t{1} << 40;

enum class Family { kLlama, kQwen2, kQwen3 };

struct FamilyName {
  Family family;
  std::string_view type;
  std::string_view architecture;
};
constexpr FamilyName kFamilies[] = {{Family::kLlama, "llama", "LlamaForCausalLM"},
                                    {Family::kQwen2, "qwen2", "Qwen2ForCausalLM"},
                                    {Family::kQwen3, "qwen3", "Qwen3ForCausalLM"}};

// Typed access to an object's keys; null counts as absent, as in transformers.
class Keys {
 public:
  Keys(const Json& object, std::string path, std::string prefix = "")
      : object_(object), path_(std::move(path)), prefix_(std::move(prefix)) {}

  [[noreturn]] void fail(std::string_view key, const std::string& problem) const {
    throw Error(Errc::kBadFile, fmt::format("{}: {}{}: {}", path_, prefix_, key, problem));
  }

  const Json* find(std::string_view key) const {
    const auto at = object_.find(key);
    return at == object_.end() || at->is_null() ? nullptr : &*at;
  }
  bool has(std::string_view key) const { return find(key) != nullptr; }

  const Json& need(std::string_view key) const {
    const Json* value = find(key);
    if (value == nullptr) fail(key, "missing");
    return *value;
  }

  std::int64_t integer(std::string_view key, std::int64_t most) const {
    const Json& value = need(key);
    if (!value.is_number_integer()) fail(key, fmt::format("{} is no integer", shown(value)));
    // An unsigned number past 2^63 must not wrap.
    const bool above =
        value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
    if (above || value.get<std::int64_t>() < 1)
      fail(key, fmt::format("{} is not between 1 and {}", shown(value), most));
    return value.get<std::int64_t>();
  }
  std::int64_t integer(std::string_view key, std::int64_t most, std::int64_t otherwise) const {
    return has(key) ? integer(key, most) : otherwise;
  }

  double number(std::string_view key, double least, double most) const {
    const Json& value = need(key);
    if (!value.is_number()) fail(key, fmt::format("{} is no number", shown(value)));
    const double x = value.get<double>();
    if (!(x >= least && x <= most))
      fail(key, fmt::format("{} is not between {} and {}", shown(value), least, most));
    return x;
  }
  double number(std::string_view key, double least, double most, double otherwise) const {
    return has(key) ? number(key, least, most) : otherwise;
  }

  bool truth(std::string_view key, bool otherwise) const {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) fail(key, fmt::format("{} is neither true nor false", shown(*value)));
    return value->get<bool>();
  }

  std::string text(std::string_view key) const {
    const Json& value = need(key);
    if (!value.is_string()) fail(key, fmt::format("{} is no string", shown(value)));
    return value.get<std::string>();
  }
  std::string text(std::string_view key, std::string otherwise) const {
    return has(key) ? text(key) : std::move(otherwise);
  }

  std::optional<Keys> object(std::string_view key) const {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_object()) fail(key, fmt::format("{} is no object", shown(*value)));
    return Keys(*value, path_, fmt::format("{}{}.", prefix_, key));
  }

 private:
  static std::string shown(const Json& value) {
    constexpr std::size_t kLongest = 60;
    const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
  }

  const Json& object_;
  std::string path_;
  std::string prefix_;
};

const FamilyName& read_family(const Keys& keys) {
  const std::string type = keys.text("model_type");
  const auto* family = std::ranges::find(kFamilies, type, &FamilyName::type);
  if (family == std::end(kFamilies))
    keys.fail("model_type", fmt::format("'{}' is not supported; llama, qwen2 and qwen3 are", type));
  const Json* architectures = keys.find("architectures");
  if (architectures != nullptr && *architectures != Json::array({family->architecture}))
    keys.fail("architectures", fmt::format("only [\"{}\"] is supported for model_type {}",
                                           family->architecture, type));
  return *family;
}

// What would change the model's function and that we do not compute.
void refuse_other_functions(const Keys& keys, Family family) {
  const std::string activation = keys.text("hidden_act", "silu");
  if (activation != "silu" && activation != "swish")
    keys.fail("hidden_act", fmt::format("'{}' is not supported; silu is", activation));
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    if (keys.truth(key, false))
      keys.fail(key, "biases of the output projection or of the MLP are not supported");
  }
  for (const char* key : {"attention_dropout", "hidden_dropout", "resid_pdrop"}) {
    if (keys.number(key, 0, 1, 0) != 0) keys.fail(key, "dropout is not supported");
  }
  if (keys.number("partial_rotary_factor", 0, 1, 1) != 1)
    keys.fail("partial_rotary_factor", "rotating a part of a head is not supported");
  if (keys.has("quantization_config"))
    keys.fail("quantization_config", "quantized weights are not supported");
  // Qwen configs state a window that use_sliding_window then turns off.
  const bool window = family == Family::kLlama ? keys.has("sliding_window")
                                               : keys.truth("use_sliding_window", false);
  if (window) keys.fail("sliding_window", "sliding-window attention is not supported");
  if (const Json* types = keys.find("layer_types")) {
    const auto full = [](const Json& type) { return type == "full_attention"; };
    if (!types->is_array() || !std::ranges::all_of(*types, full))
      keys.fail("layer_types", "only a list of \"full_attention\" is supported");
  }
}

kernels::RopeScaling read_scaling(const Keys& rope) {
  const std::string type = rope.text(rope.has("rope_type") ? "rope_type" : "type", "default");
  if (type == "default") return {};
  if (type != "llama3")
    rope.fail("rope_type", fmt::format("'{}' is not supported; default and llama3 are", type));
  kernels::RopeScaling scaling;
  scaling.factor = rope.number("factor", 1, 1e6);
  scaling.low_frequency_factor = rope.number("low_freq_factor", 1e-6, 1e6);
  scaling.high_frequency_factor = rope.number("high_freq_factor", 1e-6, 1e6);
  scaling.original_context =
      static_cast<double>(rope.integer("original_max_position_embeddings", kMaxPositions));
  if (scaling.high_frequency_factor <= scaling.low_frequency_factor)
    rope.fail("high_freq_factor", "not above low_freq_factor");
  return scaling;
}

// transformers 4 writes rope_theta and rope_scaling, transformers 5 rope_parameters with both.
void read_rope(const Keys& keys, ModelConfig& config) {
  constexpr double kMostTheta = 1e15;
  config.rope_theta = keys.number("rope_theta", 1, kMostTheta, 10000.0);
  if (const std::optional<Keys> rope = keys.object("rope_parameters")) {
    config.rope_theta = rope->number("rope_theta", 1, kMostTheta, config.rope_theta);
    config.rope_scaling = read_scaling(*rope);
    for (const char* key : {"full_attention", "sliding_attention"}) {
      if (rope->has(key)) rope->fail(key, "rotations that differ by layer are not supported");
    }
    if (rope->number("partial_rotary_factor", 0, 1, 1) != 1)
      rope->fail("partial_rotary_factor", "rotating a part of a head is not supported");
  } else if (const std::optional<Keys> scaling = keys.object("rope_scaling")) {
    config.rope_scaling = read_scaling(*scaling);
  }
}

void read_heads(const Keys& keys, Family family, ModelConfig& config) {
  config.heads = keys.integer("num_attention_heads", kMaxWidth);
  // The first Llama's configs have no num_key_value_heads; Qwen's default is no function of heads.
  config.kv_heads = family == Family::kLlama
                        ? keys.integer("num_key_value_heads", kMaxWidth, config.heads)
                        : keys.integer("num_key_value_heads", kMaxWidth);
  if (config.heads % config.kv_heads != 0)
    keys.fail("num_key_value_heads", fmt::format("{} does not divide the {} attention heads",
                                                 config.kv_heads, config.heads));
  if (family == Family::kQwen3) {
    config.head_dim = keys.integer("head_dim", kMaxWidth, 128);  // Qwen3Config's default
  } else {
    if (!keys.has("head_dim") && config.hidden % config.heads != 0)
      keys.fail("num_attention_heads",
                fmt::format("{} does not divide hidden_size {}", config.heads, config.hidden));
    config.head_dim = keys.integer("head_dim", kMaxWidth, config.hidden / config.heads);
  }
  if (config.head_dim % 2 != 0)
    keys.fail("head_dim", fmt::format("{} is odd, so it cannot be rotated", config.head_dim));
  if (config.heads > kMaxWidth / config.head_dim)
    keys.fail("head_dim", fmt::format("{} heads of {} are more than {}", config.heads,
                                      config.head_dim, kMaxWidth));
}

std::string_view dtype_name(DType dtype) {
  EBBTIDE_CHECK(dtype == DType::kF32 || dtype == DType::kBf16, std::string(ebbtide::name(dtype)));
  return dtype == DType::kF32 ? "float32" : "bfloat16";
}

const FamilyName& family_of(const ModelConfig& config) {
  const bool bias = config.qkv_bias == ModelConfig::QkvBias::kBias;
  const bool norm = config.qk_norm == ModelConfig::QkNorm::kPerHead;
  if (config.use == ModelConfig::Use::kPlanOnly || (bias && norm))
    throw Error(
        Errc::kBadUsage,
        fmt::format("{} cannot be written as a config.json of Llama, Qwen2 or Qwen3", config.name));
  return kFamilies[bias ? 1 : norm ? 2 : 0];
}

Json scaling_json(const kernels::RopeScaling& scaling) {
  if (scaling.factor == 1.0) return nullptr;
  return {
      {"rope_type", "llama3"},
      {"factor", scaling.factor},
      {"low_freq_factor", scaling.low_frequency_factor},
      {"high_freq_factor", scaling.high_frequency_factor},
      {"original_max_position_embeddings", static_cast<std::int64_t>(scaling.original_context)}};
}

}  // namespace

ModelConfig read_config(const std::filesystem::path& config_json) {
  const Json json = read_json_object(config_json);
  const Keys keys(json, config_json.string());
  const Family family = read_family(keys).family;
  refuse_other_functions(keys, family);
  ModelConfig config;
  config.name = std::filesystem::absolute(config_json).parent_path().filename().string();
  config.layers = keys.integer("num_hidden_layers", kMaxLayers);
  config.hidden = keys.integer("hidden_size", kMaxWidth);
  config.ffn = keys.integer("intermediate_size", kMaxFfn);
  config.vocab = keys.integer("vocab_size", kMaxVocab);
  read_heads(keys, family, config);
  read_rope(keys, config);
  config.rms_epsilon = keys.number("rms_norm_eps", 1e-12, 1);
  config.max_positions = keys.integer("max_position_embeddings", kMaxPositions, 0);
  config.initializer_range = keys.number("initializer_range", 1e-9, 10, 0.02);
  if (keys.truth("tie_word_embeddings", false)) config.embeddings = ModelConfig::Embeddings::kTied;
  if (family == Family::kQwen2) config.qkv_bias = ModelConfig::QkvBias::kBias;
  if (family == Family::kQwen3) config.qk_norm = ModelConfig::QkNorm::kPerHead;
  return config;
}

std::string write_config(const ModelConfig& config, DType dtype) {
  const FamilyName& family = family_of(config);
  nlohmann::ordered_json json;
  json["architectures"] = Json::array({family.architecture});
  json["model_type"] = family.type;
  json["hidden_size"] = config.hidden;
  json["intermediate_size"] = config.ffn;
  json["num_hidden_layers"] = config.layers;
  json["num_attention_heads"] = config.heads;
  json["num_key_value_heads"] = config.kv_heads;
  json["head_dim"] = config.head_dim;
  json["vocab_size"] = config.vocab;
  json["hidden_act"] = "silu";
  json["rms_norm_eps"] = config.rms_epsilon;
  // The keys of transformers 4, which transformers 5 reads too.
  json["rope_theta"] = config.rope_theta;
  json["rope_scaling"] = scaling_json(config.rope_scaling);
  if (config.max_positions > 0) json["max_position_embeddings"] = config.max_positions;
  json["initializer_range"] = config.initializer_range;
  json["tie_word_embeddings"] = config.tied();
  json["attention_bias"] = false;
  json["attention_dropout"] = 0.0;
  json["torch_dtype"] = dtype_name(dtype);
  // Unknown here: transformers would assume the ids of the first Llama's tokenizer.
  json["bos_token_id"] = nullptr;
  json["eos_token_id"] = nullptr;
  return json.dump(2) + "\n";
}

}  // namespace ebbtide::model
