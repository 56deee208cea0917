// The programs as data: counts, policies, and what may be built.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "ebbtide/error.hpp"
#include "src/model/policy.hpp"
#include "tests/model/llama_run.hpp"

namespace ebbtide::testing {
namespace {

using model::ActivationMode;
using model::ActivationPolicy;
using model::MicroStep;
using model::ModelConfig;
using model::ModelHomes;
using model::StepShape;

Program program_of(const ModelConfig& config, const StepShape& shape,
                   const ActivationPolicy& policy = {}) {
  const ModelHomes homes = model::lay_out_homes(config, shape, {});
  MicroStep micro;
  micro.shape = shape;
  micro.activations = policy;
  return model::forward_backward_program(config, homes, micro, nullptr);
}

// What Program's invariants and a planner rely on, walked in program order.
void expect_well_formed(const Program& program) {
  std::vector<char> written(program.value_count(), 0);
  std::vector<char> used(program.value_count(), 0);
  for (OpId op = 0; op < program.op_count(); ++op)
    for (const Use& use : program.uses(op)) {
      const bool homed = program.home(use.value) != nullptr;
      ASSERT_TRUE(!use.reads() || homed || written[use.value]) << program.describe(use.value);
      written[use.value] |= static_cast<char>(use.writes());
      used[use.value] = 1;
    }
  for (ValueId v = 0; v < program.value_count(); ++v) {
    EXPECT_TRUE(used[v]) << program.describe(v);
    EXPECT_GT(program.value(v).size_bytes, 0U);
  }
}

// Values of the kind, by (layer, chunk), and how often they leave the device at once.
std::map<std::pair<int, int>, int> leaves(const Program& program, const std::string& kind) {
  std::map<std::pair<int, int>, int> count;
  for (OpId op = 0; op < program.op_count(); ++op)
    for (const Use& use : program.uses(op)) {
      const Value& value = program.value(use.value);
      if (program.kind(value.kind).name == kind) count[{value.at[0], value.at[1]}] += use.leaves;
    }
  return count;
}

std::set<std::string> kinds_of_category(const Program& program, const std::string& category) {
  std::set<std::string> names;
  for (KindId k = 0; k < program.kind_count(); ++k)
    if (program.kind(k).category == category) names.insert(program.kind(k).name);
  return names;
}

TEST(LlamaProgram, IsWellFormedWhateverThePolicy) {
  ModelConfig config = tiny_config();
  config.qk_norm = ModelConfig::QkNorm::kPerHead;
  for (const DType dtype : {DType::kF32, DType::kBf16})
    for (const ActivationMode mode : {ActivationMode::kAuto, ActivationMode::kKeep,
                                      ActivationMode::kOffload, ActivationMode::kRecompute})
      for (const std::int64_t group : {1, 3})
        expect_well_formed(program_of(config, {43, 8, group, dtype}, {mode, 0.5, Reach::kAny}));
}

// A saved value that is offloaded leaves once, after the last forward use, which is the last use
// before its gap; one that is not saved never does.
TEST(LlamaProgram, OffloadedActivationsLeaveOnce) {
  ModelConfig config = tiny_config();
  config.qk_norm = ModelConfig::QkNorm::kPerHead;
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    const Program program =
        program_of(config, {48, 8, 2, dtype}, {ActivationMode::kOffload, 0.5, Reach::kNvme});
    for (const char* kind : {"layer input", "attention output", "log-sum-exp"})
      for (const auto& [at, count] : leaves(program, kind))
        EXPECT_EQ(count, at.first < config.layers ? 1 : 0) << kind << at.first << "," << at.second;
    for (const char* kind : {"input norm", "q before its norm", "k before its norm", "q", "k", "v",
                             "mid-layer residual", "post-attention norm", "gate", "up"})
      for (const auto& [at, count] : leaves(program, kind))
        EXPECT_EQ(count, at.second >= 3 ? 1 : 0) << kind << " " << at.first << "," << at.second;
  }
}

// The op at which a value leaves is followed by no forward use of it: the next use is a backward
// op's.
TEST(LlamaProgram, OffloadedActivationsLeaveAtTheirLastForwardUse) {
  const Program program = program_of(tiny_config(), {48, 8, 2, DType::kBf16},
                                     {ActivationMode::kOffload, 1.0, Reach::kNvme});
  OpId backward = 0;  // the first op after the last chunk's loss
  for (OpId op = 0; op < program.op_count(); ++op)
    if (program.kernel(program.op(op).kernel).name == "final norm gradient") backward = op + 1;
  std::vector<OpId> left(program.value_count(), program.op_count());
  std::size_t offloaded = 0;
  for (OpId op = 0; op < program.op_count(); ++op)
    for (const Use& use : program.uses(op)) {
      EXPECT_TRUE(op >= backward || left[use.value] > op) << program.describe(use.value);
      if (!use.leaves) continue;
      left[use.value] = op;
      ++offloaded;
      EXPECT_LT(op, backward);
      EXPECT_EQ(program.kind(program.value(use.value).kind).category, "saved activations");
      EXPECT_EQ(program.value(use.value).reach, Reach::kNvme);
    }
  // 11 kinds in 2 layers of 6 chunks, and the output's gradient
  EXPECT_EQ(offloaded, 11U * 2 * 6 + 6);
}

TEST(LlamaProgram, KeptActivationsStayOnTheDevice) {
  const Program program =
      program_of(tiny_config(), {48, 8, 2, DType::kF32}, {ActivationMode::kKeep, 1.0, Reach::kAny});
  for (ValueId v = 0; v < program.value_count(); ++v) {
    const bool saved = program.kind(program.value(v).kind).category == "saved activations";
    EXPECT_EQ(program.value(v).reach, saved ? Reach::kDevice : Reach::kAny);
  }
}

TEST(LlamaProgram, RecomputationSavesInputsAttentionAndTheLossAlone) {
  const Program program = program_of(tiny_config(), {48, 8, 2, DType::kBf16},
                                     {ActivationMode::kRecompute, 1.0, Reach::kAny});
  EXPECT_EQ(
      kinds_of_category(program, "saved activations"),
      (std::set<std::string>{"attention output", "layer input", "log-sum-exp", "output gradient"}));
}

// 6 H + 2 G D + 2 F elements a token and layer in 16 bits, log-sum-exps, and one output gradient.
TEST(LlamaProgram, SavesWhatTheFormulaSays) {
  const ModelConfig config = tiny_config();
  const Program program = program_of(config, {48, 8, 2, DType::kBf16});
  std::uint64_t bytes = 0;
  for (ValueId v = 0; v < program.value_count(); ++v)
    if (program.kind(program.value(v).kind).category == "saved activations")
      bytes += program.value(v).size_bytes;
  const auto q = config.heads * config.head_dim, kv = config.kv_heads * config.head_dim;
  const auto layer = 2 * (4 * config.hidden + 2 * q + 2 * kv + 2 * config.ffn) + 4 * config.heads;
  EXPECT_EQ(bytes, static_cast<std::uint64_t>(48 * (config.layers * layer + 2 * config.hidden)));
}

TEST(LlamaProgram, AttentionFlopsAreCausal) {
  const ModelConfig config = tiny_config();
  const Program program = program_of(config, {21, 8, 1, DType::kF32});
  double flops = 0;
  for (OpId op = 0; op < program.op_count(); ++op)
    if (program.kernel(program.op(op).kernel).name == "attention") flops += program.cost(op).flops;
  // 21 * 22 / 2 scores a head and layer, two products, 2 D flops each
  EXPECT_EQ(flops, config.layers * config.heads * 231.0 * 2 * 2 * config.head_dim);
}

TEST(LlamaProgram, WeightsShareOneResidentLimit) {
  const Program program = program_of(tiny_config(), {21, 8, 1, DType::kBf16});
  for (KindId k = 0; k < program.kind_count(); ++k) {
    const bool weights = program.kind(k).category == "weights";
    EXPECT_EQ(program.kind(k).resident_limit.has_value(), weights) << program.kind(k).name;
  }
}

TEST(LlamaProgram, HasOneGradientForATiedEmbedding) {
  ModelConfig config = tiny_config();
  config.embeddings = ModelConfig::Embeddings::kTied;
  const Program program = program_of(config, {21, 8, 1, DType::kF32});
  EXPECT_FALSE(kinds_of_category(program, "gradients").contains("head weight gradient"));
  EXPECT_FALSE(kinds_of_category(program, "weights").contains("head weight"));
  std::size_t embeddings = 0;
  for (ValueId v = 0; v < program.value_count(); ++v)
    embeddings += program.kind(program.value(v).kind).name == "embedding gradient";
  EXPECT_EQ(embeddings, 1U);
}

ModelConfig llama2_7b() {
  ModelConfig config;
  config.layers = 32;
  config.hidden = 4096;
  config.heads = config.kv_heads = 32;
  config.head_dim = 128;
  config.ffn = 11008;
  config.vocab = 32000;
  return config;
}

TEST(LlamaProgram, OfAMillionTokensIsSmall) {
  const StepShape shape{std::int64_t{1} << 20, 8192, 1, DType::kBf16};
  const Program program = program_of(llama2_7b(), shape);
  // 32 layers of 128 * 129 / 2 pairs, forward and backward, and the rest of 128 chunks
  EXPECT_GT(program.op_count(), 2U * 32 * 8256);
  EXPECT_LT(program.op_count(), 750000U);
  EXPECT_LT(program.memory_bytes(), std::uint64_t{150} << 20);
}

TEST(LlamaProgram, OfAModelForPlanningAloneHasNoCallbacks) {
  ModelConfig config = tiny_config();
  config.use = ModelConfig::Use::kPlanOnly;
  const StepShape shape{21, 8, 1, DType::kF32};
  expect_well_formed(program_of(config, shape));
  const ModelHomes homes = model::lay_out_homes(config, shape, {});
  const model::SharedKernels kernels = kernels::make_cpu_kernels({});
  EXPECT_THROW(model::forward_backward_program(config, homes, {shape, {}, {}, {}}, kernels), Error);
  EXPECT_THROW(model::evaluation_program(config, homes, shape, kernels), Error);
  EXPECT_THROW(model::optimizer_program(config, homes, DType::kF32, kernels), Error);
}

// MEMO: 16 elements of h a token and layer, in 16 bits.
TEST(LlamaProgram, OfAGptLayerSavesSixteenHidden) {
  ModelConfig config = tiny_config();
  config.use = ModelConfig::Use::kPlanOnly;
  config.kv_heads = config.heads;
  config.head_dim = config.hidden / config.heads;
  config.ffn = 4 * config.hidden;
  const Program program = program_of(config, {48, 8, 1, DType::kBf16});
  std::uint64_t bytes = 0;
  for (ValueId v = 0; v < program.value_count(); ++v) {
    const ValueKind& kind = program.kind(program.value(v).kind);
    if (kind.category == "saved activations" && kind.name != "output gradient" &&
        kind.name != "log-sum-exp")
      bytes += program.value(v).size_bytes;
  }
  EXPECT_EQ(bytes, static_cast<std::uint64_t>(48 * config.layers * 32 * config.hidden));
}

TEST(LlamaProgram, RefusesLengthsBelowOne) {
  EXPECT_THROW(program_of(tiny_config(), {0, 8, 1, DType::kF32}), ContractViolation);
  EXPECT_THROW(program_of(tiny_config(), {8, 0, 1, DType::kF32}), ContractViolation);
  EXPECT_THROW(program_of(tiny_config(), {8, 8, 0, DType::kF32}), ContractViolation);
}

TEST(LlamaProgram, OfAShorterSequenceSharesTheHomes) {
  const ModelConfig config = tiny_config();
  const ModelHomes homes = model::lay_out_homes(config, {48, 8, 1, DType::kF32}, {});
  expect_well_formed(
      model::forward_backward_program(config, homes, {{21, 8, 1, DType::kF32}, {}, {}, {}}, {}));
  EXPECT_THROW(
      model::forward_backward_program(config, homes, {{49, 8, 1, DType::kF32}, {}, {}, {}}, {}),
      ContractViolation);
}

TEST(SavingRule, SavesTheLastChunksRoundedUp) {
  const auto saved = [](double fraction, std::int64_t chunks) {
    const model::SavingRule rule({ActivationMode::kAuto, fraction, Reach::kAny}, chunks);
    std::int64_t count = 0;
    for (std::int64_t c = 0; c < chunks; ++c) {
      count += rule.saves(model::SavedPart::kMlp, c);
      EXPECT_TRUE(c == 0 || rule.saves(model::SavedPart::kMlp, c) ||
                  !rule.saves(model::SavedPart::kMlp, c - 1));
    }
    return count;
  };
  EXPECT_EQ(saved(0, 7), 0);
  EXPECT_EQ(saved(1, 7), 7);
  EXPECT_EQ(saved(0.5, 7), 4);
  EXPECT_EQ(saved(0.1, 10), 1);
  EXPECT_EQ(saved(0.001, 10), 1);
}

TEST(AutoShape, FitsTheModelAndTheLength) {
  EXPECT_EQ(model::auto_chunk_tokens(llama2_7b(), std::int64_t{1} << 20, DType::kBf16), 8192);
  ModelConfig demo = tiny_config();
  demo.hidden = 256;
  demo.ffn = 688;
  EXPECT_EQ(model::auto_chunk_tokens(demo, 8192, DType::kF32), 512);
  EXPECT_EQ(model::auto_chunk_tokens(demo, 100, DType::kF32), 100);
  // a tensor of a chunk stays within 256 MiB
  ModelConfig wide = llama2_7b();
  wide.ffn = 28672;
  EXPECT_EQ(model::auto_chunk_tokens(wide, std::int64_t{1} << 20, DType::kBf16), 4096);
}

TEST(AutoShape, SharesKeysUntilTheyAreReusedEnough) {
  EXPECT_EQ(model::auto_attention_group(llama2_7b(), {1 << 20, 8192, 1, DType::kBf16}), 4);
  EXPECT_EQ(model::auto_attention_group(llama2_7b(), {8192, 8192, 1, DType::kBf16}), 1);
  EXPECT_EQ(model::auto_attention_group(tiny_config(), {8192, 512, 1, DType::kF32}), 8);
}

}  // namespace
}  // namespace ebbtide::testing
