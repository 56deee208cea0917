#include <fmt/format.h>

#include "ebbtide/error.hpp"
#include "src/model/llama_dims.hpp"

namespace ebbtide::model {
namespace {

struct SlotEntry {
  Slot slot;
  std::string_view label;
  std::string_view suffix;  // of the Hugging Face name, after "model.layers.N."
  ParameterRole role;
};

constexpr auto kMatrix = ParameterRole::kMatrix;
constexpr auto kNorm = ParameterRole::kNormWeight;
constexpr auto kBias = ParameterRole::kBias;
constexpr std::array<SlotEntry, kSlotCount> kSlots{{
    {Slot::kInputNorm, "input norm weight", "input_layernorm.weight", kNorm},
    {Slot::kQ, "q weight", "self_attn.q_proj.weight", kMatrix},
    {Slot::kQBias, "q bias", "self_attn.q_proj.bias", kBias},
    {Slot::kK, "k weight", "self_attn.k_proj.weight", kMatrix},
    {Slot::kKBias, "k bias", "self_attn.k_proj.bias", kBias},
    {Slot::kV, "v weight", "self_attn.v_proj.weight", kMatrix},
    {Slot::kVBias, "v bias", "self_attn.v_proj.bias", kBias},
    {Slot::kQNorm, "q norm weight", "self_attn.q_norm.weight", kNorm},
    {Slot::kKNorm, "k norm weight", "self_attn.k_norm.weight", kNorm},
    {Slot::kO, "o weight", "self_attn.o_proj.weight", kMatrix},
    {Slot::kPostNorm, "post-attention norm weight", "post_attention_layernorm.weight", kNorm},
    {Slot::kGate, "gate weight", "mlp.gate_proj.weight", kMatrix},
    {Slot::kUp, "up weight", "mlp.up_proj.weight", kMatrix},
    {Slot::kDown, "down weight", "mlp.down_proj.weight", kMatrix},
}};

bool present(const ModelConfig& config, Slot slot) {
  switch (slot) {
    case Slot::kQBias:
    case Slot::kKBias:
    case Slot::kVBias:
      return config.qkv_bias == ModelConfig::QkvBias::kBias;
    case Slot::kQNorm:
    case Slot::kKNorm:
      return config.qk_norm == ModelConfig::QkNorm::kPerHead;
    // GELU has one projection up, which stands in the gate's place
    case Slot::kUp:
      return config.use == ModelConfig::Use::kTrain;
    default:
      return true;
  }
}

std::pair<std::int64_t, std::int64_t> slot_shape(const ModelConfig& config, Slot slot) {
  const std::int64_t q = config.heads * config.head_dim;
  const std::int64_t kv = config.kv_heads * config.head_dim;
  switch (slot) {
    case Slot::kQ:
      return {q, config.hidden};
    case Slot::kK:
    case Slot::kV:
      return {kv, config.hidden};
    case Slot::kQBias:
      return {1, q};
    case Slot::kKBias:
    case Slot::kVBias:
      return {1, kv};
    case Slot::kQNorm:
    case Slot::kKNorm:
      return {1, config.head_dim};
    case Slot::kO:
      return {config.hidden, q};
    case Slot::kGate:
    case Slot::kUp:
      return {config.ffn, config.hidden};
    case Slot::kDown:
      return {config.hidden, config.ffn};
    case Slot::kInputNorm:
    case Slot::kPostNorm:
      break;
  }
  return {1, config.hidden};
}

void append_layer(const ModelConfig& config, std::int32_t layer, std::vector<Parameter>& to) {
  for (const SlotEntry& entry : kSlots) {
    if (!present(config, entry.slot)) continue;
    const auto [rows, cols] = slot_shape(config, entry.slot);
    to.push_back(
        {fmt::format("model.layers.{}.{}", layer, entry.suffix), layer, rows, cols, entry.role});
  }
}

}  // namespace

std::vector<Parameter> parameters(const ModelConfig& config) {
  std::vector<Parameter> all;
  all.push_back(
      {"model.embed_tokens.weight", -1, config.vocab, config.hidden, ParameterRole::kEmbedding});
  for (std::int32_t l = 0; l < config.layers; ++l) append_layer(config, l, all);
  all.push_back({"model.norm.weight", -1, 1, config.hidden, ParameterRole::kNormWeight});
  if (!config.tied())
    all.push_back({"lm_head.weight", -1, config.vocab, config.hidden, ParameterRole::kMatrix});
  return all;
}

ParameterMap::ParameterMap(const ModelConfig& config)
    : layers_(static_cast<std::size_t>(config.layers)), tied_(config.tied()) {
  std::int32_t next = 0;
  for (std::size_t i = 0; i < kSlotCount; ++i)
    offset_[i] = present(config, kSlots[i].slot) ? next++ : -1;
  per_layer_ = static_cast<std::size_t>(next);
}

std::size_t ParameterMap::at(std::int64_t layer, Slot slot) const {
  EBBTIDE_CHECK(has(slot), fmt::format("no {} in this model", label(slot)));
  return first_of(layer) + static_cast<std::size_t>(offset_[static_cast<std::size_t>(slot)]);
}

std::string_view label(Slot slot) {
  return kSlots[static_cast<std::size_t>(slot)].label;
}

std::string parameter_label(const ModelConfig& config, std::size_t parameter) {
  const ParameterMap map(config);
  if (parameter == map.embedding()) return "embedding";
  if (parameter == map.final_norm()) return "final norm weight";
  if (parameter == map.head()) return "head weight";
  const std::size_t in_layer = (parameter - 1) % map.per_layer();
  for (const SlotEntry& entry : kSlots)
    if (map.has(entry.slot) && map.at(0, entry.slot) == 1 + in_layer)
      return std::string(entry.label);
  contract_violated("parameter < parameters().size()", __FILE__, __LINE__,
                    fmt::format("parameter {}", parameter));
}

namespace {

// Deals the parameters of a model out to the tiers of a StateTier, so that those on NVMe are spread
// evenly over the model and a step finds the drive at work all along.
class Dealer {
 public:
  explicit Dealer(const StateTier& state) : state_(state) {}

  Tier next(std::uint64_t size_bytes) {
    const auto bytes = static_cast<double>(size_bytes);
    owed_bytes_ += state_.nvme_fraction * bytes;
    if (owed_bytes_ < bytes) return state_.tier;
    owed_bytes_ -= bytes;
    return Tier::kNvme;
  }

 private:
  StateTier state_;
  double owed_bytes_ = 0;  // to NVMe
};

}  // namespace

std::string describe(const StateTier& state) {
  if (state.nvme_fraction == 0) return std::string(name(state.tier));
  return fmt::format("{}, {:.3g} % {}", name(state.tier), 100 * state.nvme_fraction,
                     name(Tier::kNvme));
}

ModelHomes lay_out_homes(const ModelConfig& config, const StepShape& longest,
                         const StatePlacement& placement) {
  const std::vector<Parameter> all = parameters(config);
  ModelHomes homes;
  homes.ranks = longest.ranks;
  homes.parameters.resize(all.size());
  const auto elements = [&](std::size_t p) {
    return static_cast<std::uint64_t>(shard_elements(all[p].count(), homes.ranks));
  };
  const auto fp32_bytes = [&](std::size_t p) { return elements(p) * dtype_bytes(DType::kF32); };
  Dealer weights(placement.parameters);
  for (std::size_t p = 0; p < all.size(); ++p) {
    const std::uint64_t bytes = elements(p) * dtype_bytes(longest.dtype);
    homes.parameters[p].weight = homes.layout.add(bytes, weights.next(bytes));
  }
  Dealer gradients(placement.gradients);
  for (std::size_t p = 0; p < all.size(); ++p)
    homes.parameters[p].gradient = homes.layout.add(fp32_bytes(p), gradients.next(fp32_bytes(p)));
  // what one AdamW op needs lies together
  Dealer optimizer(placement.optimizer);
  for (std::size_t p = 0; p < all.size(); ++p) {
    ParameterHomes& to = homes.parameters[p];
    const Tier tier = optimizer.next(fp32_bytes(p));
    to.master = longest.dtype == DType::kF32 ? to.weight : homes.layout.add(fp32_bytes(p), tier);
    to.m = homes.layout.add(fp32_bytes(p), tier);
    to.v = homes.layout.add(fp32_bytes(p), tier);
  }
  for (std::size_t p = 0; p < all.size(); ++p)
    homes.sums_of_squares.push_back(homes.layout.add(sizeof(double), Tier::kHost));
  const StepDims dims = step_dims(config, longest);
  for (std::int64_t c = 0; c < dims.chunks(); ++c) {
    const auto bytes = static_cast<std::uint64_t>(dims.rows(c)) * dtype_bytes(DType::kU32);
    homes.tokens.push_back(homes.layout.add(bytes, Tier::kHost));
    homes.targets.push_back(homes.layout.add(bytes, Tier::kHost));
  }
  homes.loss = homes.layout.add(sizeof(double), Tier::kHost);
  homes.scalars = homes.layout.add(sizeof(OptimizerScalars), Tier::kHost);
  homes.gradient_norm = homes.layout.add(sizeof(double), Tier::kHost);
  return homes;
}

}  // namespace ebbtide::model
