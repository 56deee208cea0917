#include "src/model/config.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "ebbtide/error.hpp"
#include "tests/temporary_directory.hpp"

namespace ebbtide::model {
namespace {

using Json = nlohmann::json;
using test::TemporaryDirectory;

// meta-llama/Llama-3.1-8B, as transformers 4 writes it.
Json llama31() {
  return Json::parse(R"({
    "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 128000, "eos_token_id": 128001, "hidden_act": "silu", "hidden_size": 4096,
    "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 131072,
    "mlp_bias": false, "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
    "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                     "original_max_position_embeddings": 8192, "rope_type": "llama3"},
    "rope_theta": 500000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
    "transformers_version": "4.43.0.dev0", "use_cache": true, "vocab_size": 128256})");
}

// Qwen/Qwen2.5-0.5B
Json qwen25() {
  return Json::parse(R"({
    "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "hidden_act": "silu",
    "hidden_size": 896, "initializer_range": 0.02, "intermediate_size": 4864,
    "max_position_embeddings": 32768, "max_window_layers": 24, "model_type": "qwen2",
    "num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2,
    "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "sliding_window": 32768,
    "tie_word_embeddings": true, "torch_dtype": "bfloat16", "use_mrope": false,
    "use_sliding_window": false, "vocab_size": 151936})");
}

// Qwen/Qwen3-8B, as transformers 5 writes it.
Json qwen3() {
  return Json::parse(R"({
    "architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "dtype": "bfloat16", "head_dim": 128, "hidden_act": "silu", "hidden_size": 4096,
    "initializer_range": 0.02, "intermediate_size": 12288, "layer_types": ["full_attention"],
    "max_position_embeddings": 40960, "max_window_layers": 36, "model_type": "qwen3",
    "num_attention_heads": 32, "num_hidden_layers": 36, "num_key_value_heads": 8,
    "rms_norm_eps": 1e-06, "rope_parameters": {"rope_theta": 1000000, "rope_type": "default"},
    "sliding_window": null, "tie_word_embeddings": false, "use_sliding_window": false,
    "vocab_size": 151936})");
}

ModelConfig read_text(const std::string& text) {
  const TemporaryDirectory directory;
  return read_config(directory.write("config.json", text));
}

// Message of the kBadFile that reading the text gives; empty if there was none.
std::string refusal(const std::string& text) {
  try {
    read_text(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::kBadFile)) << error.what();
    return error.what();
  }
  return "";
}

void expect_same(const ModelConfig& a, const ModelConfig& b) {
  EXPECT_EQ(a.layers, b.layers);
  EXPECT_EQ(a.hidden, b.hidden);
  EXPECT_EQ(a.heads, b.heads);
  EXPECT_EQ(a.kv_heads, b.kv_heads);
  EXPECT_EQ(a.head_dim, b.head_dim);
  EXPECT_EQ(a.ffn, b.ffn);
  EXPECT_EQ(a.vocab, b.vocab);
  EXPECT_EQ(a.rms_epsilon, b.rms_epsilon);
  EXPECT_EQ(a.rope_theta, b.rope_theta);
  EXPECT_EQ(a.rope_scaling.factor, b.rope_scaling.factor);
  EXPECT_EQ(a.rope_scaling.low_frequency_factor, b.rope_scaling.low_frequency_factor);
  EXPECT_EQ(a.rope_scaling.high_frequency_factor, b.rope_scaling.high_frequency_factor);
  EXPECT_EQ(a.rope_scaling.original_context, b.rope_scaling.original_context);
  EXPECT_EQ(a.max_positions, b.max_positions);
  EXPECT_EQ(a.initializer_range, b.initializer_range);
  EXPECT_EQ(a.embeddings, b.embeddings);
  EXPECT_EQ(a.qkv_bias, b.qkv_bias);
  EXPECT_EQ(a.qk_norm, b.qk_norm);
}

std::int64_t parameter_count(const ModelConfig& c) {
  const std::int64_t q = c.heads * c.head_dim;
  const std::int64_t kv = c.kv_heads * c.head_dim;
  std::int64_t layer = c.hidden * (2 * q + 2 * kv + 3 * c.ffn + 2);
  if (c.qkv_bias == ModelConfig::QkvBias::kBias) layer += q + 2 * kv;
  if (c.qk_norm == ModelConfig::QkNorm::kPerHead) layer += 2 * c.head_dim;
  return c.layers * layer + c.hidden + (c.tied() ? 1 : 2) * c.vocab * c.hidden;
}

TEST(Presets, HaveThePublishedNumberOfParameters) {
  const std::map<std::string, std::int64_t> published{
      {"llama2-7b", 6738415616},   {"llama2-13b", 13015864320},  {"llama3-8b", 8030261248},
      {"llama3.1-8b", 8030261248}, {"llama3-70b", 70553706496},  {"tinyllama-1.1b", 1100048384},
      {"qwen2.5-0.5b", 494032768}, {"qwen2.5-1.5b", 1543714304}, {"qwen2.5-7b", 7615616512},
      {"qwen3-8b", 8190735360}};
  for (const auto& [name, count] : published) EXPECT_EQ(parameter_count(preset(name)), count);
}

TEST(Presets, EqualTheConfigOfTheModelThatTheyName) {
  expect_same(preset("llama3.1-8b"), read_text(llama31().dump()));
  expect_same(preset("qwen2.5-0.5b"), read_text(qwen25().dump()));
  expect_same(preset("qwen3-8b"), read_text(qwen3().dump()));
}

TEST(Presets, AnUnknownNameIsBadUsageAndListsThem) {
  try {
    preset("llama9");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::kBadUsage));
    EXPECT_NE(std::string(error.what()).find("llama9"), std::string::npos);
    for (const std::string& name : preset_names())
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << name;
  }
}

TEST(Config, WhatIsWrittenReadsBackTheSame) {
  for (const std::string& name : preset_names()) {
    const ModelConfig config = preset(name);
    if (config.use == ModelConfig::Use::kPlanOnly) continue;
    expect_same(config, read_text(write_config(config, DType::kBf16)));
  }
}

TEST(Config, APlanOnlyModelCannotBeWritten) {
  EXPECT_THROW(write_config(preset("gpt-7b"), DType::kF32), Error);
}

TEST(Config, AbsentAndNullKeysTakeTransformersDefaults) {
  Json json = llama31();
  for (const char* key : {"num_key_value_heads", "rope_theta", "rope_scaling", "architectures",
                          "hidden_act", "tie_word_embeddings", "max_position_embeddings"})
    json.erase(key);
  const ModelConfig absent = read_text(json.dump());
  EXPECT_EQ(absent.kv_heads, 32);
  EXPECT_EQ(absent.head_dim, 128);
  EXPECT_EQ(absent.rope_theta, 10000.0);
  EXPECT_EQ(absent.rope_scaling.factor, 1.0);
  EXPECT_EQ(absent.max_positions, 0);
  for (const char* key : {"num_key_value_heads", "head_dim", "rope_scaling"}) json[key] = nullptr;
  expect_same(read_text(json.dump()), absent);
}

TEST(Config, RopeParametersOfTransformersFiveAreRead) {
  Json json = llama31();
  json["rope_parameters"] = json["rope_scaling"];
  json["rope_parameters"]["rope_theta"] = 500000.0;
  json.erase("rope_scaling");
  json.erase("rope_theta");
  expect_same(preset("llama3.1-8b"), read_text(json.dump()));
}

TEST(Config, EveryBadValueIsRefusedNamingItsKey) {
  const std::int64_t past_32_bits = std::int64_t{1} << 40;
  const std::vector<Json> no_sizes{nullptr, "4096",        4096.0,        0,
                                   -4096,   past_32_bits,  true,          ~std::uint64_t{0},
                                   1e300,   Json::array(), Json::object()};
  for (const char* key : {"hidden_size", "intermediate_size", "num_hidden_layers",
                          "num_attention_heads", "vocab_size"}) {
    for (const Json& value : no_sizes) {
      Json json = llama31();
      json[key] = value;
      EXPECT_NE(refusal(json.dump()).find(key), std::string::npos) << key << " = " << value;
    }
    Json json = llama31();
    json.erase(key);
    EXPECT_NE(refusal(json.dump()).find(key), std::string::npos) << key;
  }
}

struct BadPatch {
  const char* patch;  // RFC 7396, onto llama31()
  const char* named;  // in the message
};

TEST(Config, WhatTheModelCannotBeIsRefused) {
  for (const auto& [patch, named] : std::vector<BadPatch>{
           {R"({"num_key_value_heads": 5})", "num_key_value_heads"},
           {R"({"num_key_value_heads": 0})", "num_key_value_heads"},
           {R"({"num_key_value_heads": 64})", "num_key_value_heads"},
           {R"({"num_attention_heads": 24, "num_key_value_heads": 8})", "num_attention_heads"},
           {R"({"head_dim": 127})", "head_dim"},
           {R"({"head_dim": 1048576})", "head_dim"},
           {R"({"rms_norm_eps": 0})", "rms_norm_eps"},
           {R"({"rms_norm_eps": null})", "rms_norm_eps"},
           {R"({"rms_norm_eps": "1e-5"})", "rms_norm_eps"},
           {R"({"rope_theta": -10000})", "rope_theta"},
           {R"({"initializer_range": -1})", "initializer_range"},
           {R"({"hidden_act": "gelu"})", "hidden_act"},
           {R"({"hidden_act": 3})", "hidden_act"},
           {R"({"attention_bias": true})", "attention_bias"},
           {R"({"attention_bias": "no"})", "attention_bias"},
           {R"({"mlp_bias": true})", "mlp_bias"},
           {R"({"attention_dropout": 0.1})", "attention_dropout"},
           {R"({"sliding_window": 4096})", "sliding_window"},
           {R"({"layer_types": ["full_attention", "sliding_attention"]})", "layer_types"},
           {R"({"quantization_config": {"bits": 4}})", "quantization_config"},
           {R"({"partial_rotary_factor": 0.5})", "partial_rotary_factor"},
           {R"({"tie_word_embeddings": 1})", "tie_word_embeddings"},
           {R"({"model_type": "mistral"})", "model_type"},
           {R"({"model_type": null})", "model_type"},
           {R"({"architectures": ["LlamaForSequenceClassification"]})", "architectures"},
           {R"({"architectures": "LlamaForCausalLM"})", "architectures"},
           {R"({"rope_scaling": {"rope_type": "yarn"}})", "rope_type"},
           {R"({"rope_scaling": {"rope_type": "linear"}})", "rope_type"},
           {R"({"rope_scaling": 8})", "rope_scaling"},
           {R"({"rope_scaling": {"factor": null}})", "factor"},
           {R"({"rope_scaling": {"factor": 0}})", "factor"},
           {R"({"rope_scaling": {"low_freq_factor": 0}})", "low_freq_factor"},
           {R"({"rope_scaling": {"high_freq_factor": 1}})", "high_freq_factor"},
           {R"({"rope_scaling": {"original_max_position_embeddings": 0}})", "original_max"},
           {R"({"rope_parameters": {"rope_type": "dynamic"}})", "rope_type"},
           {R"({"rope_parameters": {"full_attention": {"rope_theta": 1}}})", "full_attention"}}) {
    Json json = llama31();
    json.merge_patch(Json::parse(patch));
    EXPECT_NE(refusal(json.dump()).find(named), std::string::npos) << patch;
  }
}

TEST(Config, AQwenWithASlidingWindowIsRefused) {
  Json json = qwen25();
  json["use_sliding_window"] = true;
  EXPECT_NE(refusal(json.dump()).find("sliding"), std::string::npos);
}

TEST(Config, WhatIsNoJsonObjectIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("null"), std::string("[1]"), std::string("42"),
        std::string("{\"hidden_size\": 1e999}"), std::string("{\"a\": \"\xff\"}"),
        std::string(4096, '\0'), llama31().dump() + "x", std::string(100'000, '['),
        std::string("{\"a\":") + std::string(100'000, '[')})
    EXPECT_NE(refusal(text), "") << text.substr(0, 40);
}

TEST(Config, DeepNestingIsRefused) {
  Json nested = 1;
  for (int depth = 0; depth < 100; ++depth) nested = Json::array({nested});
  Json json = llama31();
  json["extra"] = nested;
  EXPECT_NE(refusal(json.dump()).find("deep"), std::string::npos);
}

TEST(Config, ATruncationAtEveryByteIsRefused) {
  const std::string text = qwen25().dump();
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_NE(refusal(text.substr(0, length)), "") << length;
}

TEST(Config, AKeyThatIsThereTwiceIsRefused) {
  const std::string text = llama31().dump();
  EXPECT_NE(refusal("{\"vocab_size\": 256," + text.substr(1)).find("twice"), std::string::npos);
}

TEST(Config, AFileTooLongIsRefused) {
  EXPECT_NE(refusal(llama31().dump() + std::string(2 << 20, ' ')).find("bytes"), std::string::npos);
}

TEST(Config, AMissingFileKeepsItsErrno) {
  try {
    read_config("/nonexistent/config.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
  }
}

}  // namespace
}  // namespace ebbtide::model
