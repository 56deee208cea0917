#include "src/model/llama_values.hpp"

#include <fmt/format.h>

#include "ebbtide/error.hpp"

namespace ebbtide::model {
namespace {

constexpr const char* kActivations = "activations";
constexpr const char* kAttentionState = "attention state";
constexpr const char* kWorkspace = "workspace";

// The last three are a rank's heads of the whole chunk.
enum class Width : std::uint8_t {
  kHidden,
  kQ,
  kKv,
  kFfn,
  kHeads,
  kHeadDim,
  kVocab,
  kRankQ,
  kRankKv,
  kRankHeads,
};
enum class Precision : std::uint8_t { kStep, kFp32 };

struct ActivationEntry {
  Activation what;
  const char* name;
  const char* category;  // when not saved
  Width width;
  Precision precision = Precision::kStep;
};

using A = Activation;
constexpr std::array<ActivationEntry, kActivationCount> kEntries{{
    {A::kRopeTable, "rope table", kActivations, Width::kHeadDim, Precision::kFp32},
    {A::kLayerInput, "layer input", kActivations, Width::kHidden},
    {A::kInputNorm, "input norm", kActivations, Width::kHidden},
    {A::kRawQ, "q before its norm", kActivations, Width::kQ},
    {A::kRawK, "k before its norm", kActivations, Width::kKv},
    {A::kQ, "q", kActivations, Width::kRankQ},
    {A::kK, "k", kActivations, Width::kRankKv},
    {A::kV, "v", kActivations, Width::kRankKv},
    {A::kRunningAttention, "running attention output", kAttentionState, Width::kRankQ,
     Precision::kFp32},
    {A::kAttention, "attention output", kActivations, Width::kQ},
    {A::kLse, "log-sum-exp", kAttentionState, Width::kRankHeads, Precision::kFp32},
    {A::kMid, "mid-layer residual", kActivations, Width::kHidden},
    {A::kPostNorm, "post-attention norm", kActivations, Width::kHidden},
    {A::kGate, "gate", kActivations, Width::kFfn},
    {A::kUp, "up", kActivations, Width::kFfn},
    {A::kAct, "activated gate", kActivations, Width::kFfn},
    {A::kFinalNorm, "final norm", kActivations, Width::kHidden},
    {A::kLogits, "logits", kWorkspace, Width::kVocab, Precision::kFp32},
    {A::kDLogits, "logits gradient", kWorkspace, Width::kVocab},
    {A::kDFinalNorm, "final norm gradient", kActivations, Width::kHidden},
    {A::kDOutput, "output gradient", kActivations, Width::kHidden},
    {A::kDAct, "activated gate gradient", kActivations, Width::kFfn},
    {A::kDGate, "gate gradient", kActivations, Width::kFfn},
    {A::kDUp, "up gradient", kActivations, Width::kFfn},
    {A::kDPostNormPart, "post-attention norm gradient, gate's part", kActivations, Width::kHidden},
    {A::kDPostNorm, "post-attention norm gradient", kActivations, Width::kHidden},
    {A::kDMid, "mid-layer residual gradient", kActivations, Width::kHidden},
    {A::kDAttention, "attention output gradient", kActivations, Width::kQ},
    {A::kDelta, "attention delta", kAttentionState, Width::kHeads, Precision::kFp32},
    {A::kDQ, "q gradient sum", kAttentionState, Width::kRankQ, Precision::kFp32},
    {A::kDK, "k gradient sum", kAttentionState, Width::kRankKv, Precision::kFp32},
    {A::kDV, "v gradient sum", kAttentionState, Width::kRankKv, Precision::kFp32},
    {A::kDRawQ, "q gradient", kActivations, Width::kQ},
    {A::kDRawK, "k gradient", kActivations, Width::kKv},
    {A::kDRawV, "v gradient", kActivations, Width::kKv},
    {A::kDInputNormQ, "input norm gradient, q's part", kActivations, Width::kHidden},
    {A::kDInputNormQk, "input norm gradient, q's and k's part", kActivations, Width::kHidden},
    {A::kDInputNorm, "input norm gradient", kActivations, Width::kHidden},
    {A::kDInput, "layer input gradient", kActivations, Width::kHidden},
    {A::kSliceQ, "q of the slice", kActivations, Width::kQ},
    {A::kSliceK, "k of the slice", kActivations, Width::kKv},
    {A::kSliceV, "v of the slice", kActivations, Width::kKv},
    {A::kHeadAttention, "attention output by heads", kActivations, Width::kRankQ},
    {A::kHeadDAttention, "attention output gradient by heads", kActivations, Width::kRankQ},
    {A::kHeadDelta, "attention delta by heads", kAttentionState, Width::kRankHeads,
     Precision::kFp32},
    {A::kSliceDQ, "q gradient sum of the slice", kActivations, Width::kQ, Precision::kFp32},
    {A::kSliceDK, "k gradient sum of the slice", kActivations, Width::kKv, Precision::kFp32},
    {A::kSliceDV, "v gradient sum of the slice", kActivations, Width::kKv, Precision::kFp32},
}};

constexpr bool entries_in_order() {
  for (std::size_t i = 0; i < kActivationCount; ++i)
    if (kEntries[i].what != static_cast<Activation>(i)) return false;
  return true;
}
static_assert(entries_in_order());

std::int64_t columns(const StepDims& dims, Width width) {
  switch (width) {
    case Width::kHidden:
      return dims.hidden;
    case Width::kQ:
      return dims.q_width();
    case Width::kKv:
      return dims.kv_width();
    case Width::kFfn:
      return dims.ffn;
    case Width::kHeads:
      return dims.heads;
    case Width::kHeadDim:
      return dims.head_dim;
    case Width::kVocab:
      return dims.vocab;
    case Width::kRankQ:
      return dims.rank_q_width();
    case Width::kRankKv:
      return dims.rank_kv_width();
    case Width::kRankHeads:
      return dims.rank_heads.q.count;
  }
  return 0;
}

std::int64_t rows(const StepDims& dims, Width width, std::int64_t chunk) {
  const std::int64_t tokens = dims.rows(chunk);
  switch (width) {
    case Width::kVocab:
      return std::min(tokens, dims.loss_tile_tokens);
    case Width::kRankQ:
    case Width::kRankKv:
    case Width::kRankHeads:
      return dims.chunk_rows(chunk);
    default:
      return tokens;
  }
}

struct StateEntry {
  const char* suffix;
  const char* category;
};
constexpr std::array<StateEntry, 6> kStates{{
    {"", "weights"},
    {" gradient", "gradients"},
    {" master", "optimizer state"},
    {" first moment", "optimizer state"},
    {" second moment", "optimizer state"},
    {" gradient's sum of squares", "gradients"},
}};

const Home& home_of(const ModelHomes& homes, std::size_t index, State state) {
  const ParameterHomes& of = homes.parameters[index];
  switch (state) {
    case State::kGradient:
      return of.gradient;
    case State::kMaster:
      return of.master;
    case State::kM:
      return of.m;
    case State::kV:
      return of.v;
    case State::kSquareSum:
      return homes.sums_of_squares[index];
    case State::kWeight:
      break;
  }
  return of.weight;
}

DType dtype_of(const StepDims& dims, State state) {
  if (state == State::kWeight) return dims.dtype;
  return state == State::kSquareSum ? DType::kF64 : DType::kF32;
}

}  // namespace

StepValues::StepValues(Program& program, const ModelConfig& config, const ModelHomes& homes,
                       const StepDims& dims, Reach saved_reach)
    : program_(program),
      config_(config),
      homes_(homes),
      dims_(dims),
      saved_reach_(saved_reach),
      parameters_(parameters(config)) {
  EBBTIDE_CHECK(homes.parameters.size() == parameters_.size(),
                fmt::format("homes of {} parameters, the model has {}", homes.parameters.size(),
                            parameters_.size()));
  EBBTIDE_CHECK(homes.ranks.count() == dims.ranks.count() || dims.ranks.count() == 1,
                fmt::format("homes of one of {} ranks, a step of one of {}", homes.ranks.count(),
                            dims.ranks.count()));
  for (auto& kinds : activation_kinds_) kinds = {-1, -1};
  std::array<ValueId, 6> none{};
  none.fill(kNone);
  parameter_values_.assign(parameters_.size(), none);
  tokens_.assign(homes.tokens.size(), kNone);
  targets_.assign(homes.targets.size(), kNone);
}

KindId StepValues::activation_kind(Activation what, Keeping keeping) {
  const auto at = static_cast<std::size_t>(what);
  std::int32_t& kind = activation_kinds_[at][static_cast<std::size_t>(keeping)];
  if (kind < 0) {
    const char* category = keeping == Keeping::kSaved ? "saved activations" : kEntries[at].category;
    kind = program_.add_kind({kEntries[at].name, category, {}});
  }
  return static_cast<KindId>(kind);
}

ValueId StepValues::make(Activation what, Keeping keeping, std::int64_t layer, std::int64_t chunk) {
  const ActivationEntry& entry = kEntries[static_cast<std::size_t>(what)];
  Value value;
  value.dtype = entry.precision == Precision::kFp32 ? DType::kF32 : dims_.dtype;
  value.size_bytes =
      static_cast<std::uint64_t>(rows(dims_, entry.width, chunk) * columns(dims_, entry.width)) *
      dtype_bytes(value.dtype);
  value.kind = activation_kind(what, keeping);
  value.reach = keeping == Keeping::kSaved ? saved_reach_ : Reach::kAny;
  value.at = {static_cast<std::int32_t>(layer), static_cast<std::int32_t>(chunk)};
  return program_.add_value(value);
}

KindId StepValues::named_kind(std::string name, const char* category,
                              std::optional<std::uint8_t> limit) {
  for (const auto& [known, kind] : named_kinds_)
    if (known == name) return kind;
  const KindId id = program_.add_kind({name, category, limit});
  named_kinds_.emplace_back(std::move(name), id);
  return id;
}

ValueId StepValues::parameter(std::size_t index, State state) {
  // in fp32 the weight is the master: one storage, one value
  if (state == State::kMaster && dims_.dtype == DType::kF32) state = State::kWeight;
  ValueId& made = parameter_values_[index][static_cast<std::size_t>(state)];
  if (made != kNone) return made;
  Value value;
  const StateEntry& entry = kStates[static_cast<std::size_t>(state)];
  value.kind = named_kind(parameter_label(config_, index) + entry.suffix, entry.category,
                          state == State::kWeight ? std::optional(kWeightLimit) : std::nullopt);
  value.dtype = dtype_of(dims_, state);
  value.at = {parameters_[index].layer, -1};
  const Home& home = home_of(homes_, index, state);
  const auto count = static_cast<std::uint64_t>(shard_elements(elements(index), homes_.ranks));
  EBBTIDE_CHECK(state == State::kSquareSum || home.size_bytes == count * dtype_bytes(value.dtype),
                fmt::format("home of {} bytes for {} {} of {}", home.size_bytes, count,
                            name(value.dtype), parameters_[index].name));
  made = program_.add_value(value, home);
  return made;
}

ValueId StepValues::whole(std::size_t index, State state) {
  const bool weight = state == State::kWeight;
  Value value;
  value.kind = named_kind("whole " + parameter_label(config_, index) + (weight ? "" : " gradient"),
                          weight ? "gathered weights" : "gradient sums",
                          weight ? std::optional(kWeightLimit) : std::nullopt);
  value.dtype = dtype_of(dims_, state);
  value.at = {parameters_[index].layer, -1};
  value.size_bytes = static_cast<std::uint64_t>(dims_.ranks.count() *
                                                shard_elements(elements(index), dims_.ranks)) *
                     dtype_bytes(value.dtype);
  return program_.add_value(value);
}

ValueId StepValues::staging(std::uint64_t size_bytes, std::int64_t chunk) {
  Value value;
  value.kind = named_kind("all-to-all staging", kWorkspace, {});
  value.dtype = DType::kU8;
  value.at = {-1, static_cast<std::int32_t>(chunk)};
  value.size_bytes = size_bytes;
  return program_.add_value(value);
}

ValueId StepValues::data(std::vector<ValueId>& made, const std::vector<Home>& homes,
                         std::int64_t chunk, const char* name) {
  const auto c = static_cast<std::size_t>(chunk);
  EBBTIDE_CHECK(c < homes.size(), fmt::format("{}: chunk {} of {}", name, chunk, homes.size()));
  const auto wanted = static_cast<std::uint64_t>(dims_.rows(chunk)) * dtype_bytes(DType::kU32);
  EBBTIDE_CHECK(homes[c].size_bytes >= wanted,
                fmt::format("{}: {} bytes at chunk {}, which needs {}", name, homes[c].size_bytes,
                            chunk, wanted));
  if (made[c] != kNone) return made[c];
  Value value;
  value.kind = named_kind(name, "data", {});
  value.dtype = DType::kU32;
  value.at = {-1, static_cast<std::int32_t>(chunk)};
  made[c] = program_.add_value(value, homes[c]);
  return made[c];
}

ValueId StepValues::tokens(std::int64_t chunk) {
  return data(tokens_, homes_.tokens, chunk, "tokens");
}
ValueId StepValues::targets(std::int64_t chunk) {
  return data(targets_, homes_.targets, chunk, "targets");
}

ValueId StepValues::single(ValueId& made, const Home& home, DType dtype, const char* name) {
  if (made != kNone) return made;
  Value value;
  value.kind = named_kind(name, "data", {});
  value.dtype = dtype;
  made = program_.add_value(value, home);
  return made;
}

ValueId StepValues::loss() {
  return single(loss_, homes_.loss, DType::kF64, "loss");
}
ValueId StepValues::scalars() {
  return single(scalars_, homes_.scalars, DType::kU8, "optimizer scalars");
}
ValueId StepValues::gradient_norm() {
  return single(gradient_norm_, homes_.gradient_norm, DType::kF64, "gradient norm");
}

}  // namespace ebbtide::model
