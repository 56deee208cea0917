// The programs of many ranks as data: what is dealt to whom, and that one rank's are as they were.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "ebbtide/error.hpp"
#include "src/model/collectives.hpp"
#include "tests/model/llama_run.hpp"
#include "tests/model/program_hash.hpp"

namespace ebbtide::testing {
namespace {

using model::ActivationMode;
using model::CollectiveArgs;
using model::CollectiveKind;
using model::HeadShare;
using model::ModelConfig;
using model::RankShape;
using model::Share;
using model::StepShape;

struct Case {
  ModelConfig config;
  StepShape shape;
  model::ActivationPolicy policy;
  model::StatePlacement placement;
};

Program train_program(const Case& of) {
  const model::ModelHomes homes = model::lay_out_homes(of.config, of.shape, of.placement);
  model::MicroStep micro;
  micro.shape = of.shape;
  micro.activations = of.policy;
  return model::forward_backward_program(of.config, homes, micro, nullptr);
}
std::uint64_t hash_of_train(const Case& of) {
  return hash_of(train_program(of));
}
std::uint64_t hash_of_evaluation(const Case& of) {
  const model::ModelHomes homes = model::lay_out_homes(of.config, of.shape, of.placement);
  return hash_of(model::evaluation_program(of.config, homes, of.shape, nullptr));
}
std::uint64_t hash_of_optimizer(const Case& of) {
  const model::ModelHomes homes = model::lay_out_homes(of.config, of.shape, of.placement);
  return hash_of(model::optimizer_program(of.config, homes, of.shape.dtype, nullptr));
}

// Recorded before there were many ranks. Whoever changes the program of one rank on purpose records
// them anew.
TEST(OneRank, HasTheProgramsThatItHad) {
  constexpr model::StatePlacement kHost{Tier::kHost, Tier::kHost, Tier::kHost};
  constexpr model::StatePlacement kNvme{Tier::kHost, Tier::kHost, Tier::kNvme};
  const Case demo{model::preset("demo"), {4096, 512, 2, DType::kF32}, {}, {}};
  EXPECT_EQ(hash_of_train(demo), 0xf7cc38ae75eb4205U);
  EXPECT_EQ(hash_of_evaluation(demo), 0xa5ea1ca4cb466e55U);
  EXPECT_EQ(hash_of_optimizer(demo), 0x084f54848043492bU);
  const Case offloaded{model::preset("demo"),
                       {5000, 512, 3, DType::kBf16},
                       {ActivationMode::kOffload, 0.5, Reach::kAny},
                       kHost};
  EXPECT_EQ(hash_of_train(offloaded), 0x818335c52f4205a6U);
  EXPECT_EQ(hash_of_evaluation(offloaded), 0x19cb40326dc6365eU);
  EXPECT_EQ(hash_of_optimizer(offloaded), 0x5350ee2adc71b810U);
  const Case biased{model::preset("qwen2.5-0.5b"),
                    {16384, 1024, 4, DType::kBf16},
                    {ActivationMode::kRecompute, 0.5, Reach::kNvme},
                    kNvme};
  EXPECT_EQ(hash_of_train(biased), 0x628d8b950232359cU);
  EXPECT_EQ(hash_of_optimizer(biased), 0xb912a3aee15f283dU);
  const Case normed{model::preset("qwen3-8b"), {8192, 1024, 1, DType::kBf16}, {}, kHost};
  EXPECT_EQ(hash_of_train(normed), 0xe0a790bec00d4036U);
  EXPECT_EQ(hash_of_evaluation(normed), 0x3b07f4582a9660a8U);
}

TEST(OneRank, HasNoCollective) {
  const Program program = train_program({model::preset("demo"), {4096, 512, 2}, {}, {}});
  for (OpId op = 0; op < program.op_count(); ++op) ASSERT_NE(program.place(op), Place::kComm);
}

TEST(Shares, AreEvenAndInOrder) {
  for (const std::int64_t total : {8, 28, 29, 1000})
    for (const std::int64_t parts : {1, 3, 8}) {
      std::int64_t next = 0;
      for (std::int64_t i = 0; i < parts; ++i) {
        const Share share = model::share(total, parts, i);
        EXPECT_EQ(share.begin, next);
        EXPECT_GE(share.count, total / parts);
        EXPECT_LE(share.count, (total + parts - 1) / parts);
        next = share.end();
      }
      EXPECT_EQ(next, total);
    }
}

TEST(HeadShares, HoldTheKvHeadsThatTheirQueriesRead) {
  std::vector<std::int64_t> queries, kv_begins, kv_counts;
  for (std::int64_t r = 0; r < 8; ++r) {
    const HeadShare share = model::head_share(28, 4, 8, r);
    queries.push_back(share.q.count);
    kv_begins.push_back(share.kv.begin);
    kv_counts.push_back(share.kv.count);
  }
  EXPECT_EQ(queries, (std::vector<std::int64_t>{4, 4, 4, 4, 3, 3, 3, 3}));
  EXPECT_EQ(kv_begins, (std::vector<std::int64_t>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(kv_counts, (std::vector<std::int64_t>{1, 2, 1, 2, 1, 2, 1, 1}));
}

// A model and shape of which nothing divides.
Case odd_case(const RankShape& ranks) {
  ModelConfig config = tiny_config();
  config.heads = 7;
  config.kv_heads = 7;
  config.vocab = 41;
  return {config, {101, 32, 2, DType::kBf16, ranks}, {ActivationMode::kAuto, 0.5, Reach::kAny}, {}};
}

double sum_of_costs(const Program& program, const std::function<bool(const Kernel&)>& counts) {
  double sum = 0;
  for (OpId op = 0; op < program.op_count(); ++op)
    if (counts(program.kernel(program.op(op).kernel))) sum += program.cost(op).flops;
  return sum;
}

TEST(ManyRanks, ShareTheProductsAndTheAttentionOfOne) {
  for (const OpClass op_class : {OpClass::kMatmul, OpClass::kAttention}) {
    const auto counts = [&](const Kernel& kernel) { return kernel.op_class == op_class; };
    const double alone = sum_of_costs(train_program(odd_case({})), counts);
    double together = 0;
    double first = 0;
    for (std::int64_t r = 0; r < 5; ++r) {
      const double own = sum_of_costs(train_program(odd_case({5, 1, r})), counts);
      if (r == 0) first = own;
      EXPECT_LE(own, first);
      together += own;
    }
    EXPECT_GT(alone, 0);
    EXPECT_DOUBLE_EQ(together, alone);
  }
}

std::map<CollectiveKind, double> sent_bytes(const Program& program) {
  std::map<CollectiveKind, double> sent;
  for (OpId op = 0; op < program.op_count(); ++op)
    if (program.place(op) == Place::kComm)
      sent[model::unpack(program.args(op)).collective.kind] += program.cost(op).sent_bytes;
  return sent;
}

// L layers of T tokens on S ranks, everything divisible, everything saved, 16 bits but for the
// sums: of each tensor's T x width numbers a rank has one part in S and keeps one part of that.
TEST(ManyRanks, SendWhatTheFormulasSay) {
  ModelConfig config = tiny_config();
  config.heads = 8;
  config.kv_heads = 4;
  const double ranks = 4, layers = 2, tokens = 128, q = 8 * 8, kv = 4 * 8;
  const Program program = train_program({config, {128, 32, 1, DType::kBf16, {4, 1, 1}}, {}, {}});
  const auto sent = sent_bytes(program);
  const double leaving = layers * tokens * (ranks - 1) / (ranks * ranks);
  const double to_heads = leaving * (2 * (q + 2 * kv) + 2 * q + 4 * 8);
  const double to_tokens = leaving * (2 * q + 4 * (q + 2 * kv));
  EXPECT_DOUBLE_EQ(sent.at(CollectiveKind::kTokensToHeads), to_heads);
  EXPECT_DOUBLE_EQ(sent.at(CollectiveKind::kHeadsToTokens), to_tokens);
  double elements = 0, last_layer = 0;
  for (const model::Parameter& parameter : model::parameters(config)) {
    elements += static_cast<double>(parameter.count());
    if (parameter.layer == 1) last_layer += static_cast<double>(parameter.count());
  }
  const double embedding = 40 * 16, tail = 40 * 16 + 16;
  // twice each, but the last layer's and what is not of a layer
  const double gathered = 2 * elements - last_layer - embedding - tail;
  EXPECT_DOUBLE_EQ(sent.at(CollectiveKind::kAllGather), 2 * gathered * (ranks - 1) / ranks);
  EXPECT_DOUBLE_EQ(sent.at(CollectiveKind::kReduceScatter), 4 * elements * (ranks - 1) / ranks);
}

// Whoever sends to me says the same bytes as I expect to receive, and no rank is left out.
TEST(ManyRanks, AgreeOnWhatTravels) {
  std::vector<Program> programs;
  for (std::int64_t r = 0; r < 6; ++r) programs.push_back(train_program(odd_case({3, 2, r})));
  std::vector<std::vector<CollectiveArgs>> all(6);
  for (std::size_t r = 0; r < 6; ++r)
    for (OpId op = 0; op < programs[r].op_count(); ++op)
      if (programs[r].place(op) == Place::kComm)
        all[r].push_back(model::unpack(programs[r].args(op)));
  for (std::size_t i = 0; i < all[0].size(); ++i) {
    const bool sequence = all[0][i].collective.group == model::RankGroup::kSequence;
    const std::size_t members = sequence ? 3 : 6;
    for (std::size_t r = 0; r < members; ++r) {
      ASSERT_EQ(all[r].size(), all[0].size());
      ASSERT_EQ(all[r][i].collective.kind, all[0][i].collective.kind);
      ASSERT_EQ(all[r][i].group_rank(), static_cast<std::int64_t>(r));
      std::uint64_t to_me = 0;
      for (std::size_t peer = 0; peer < members; ++peer)
        if (peer != r) to_me += all[peer][i].bytes_to(static_cast<std::int64_t>(r));
      ASSERT_EQ(to_me, all[r][i].received_bytes()) << i;
    }
  }
}

TEST(ManyRanks, HoldTheStateOfOneBetweenThem) {
  const Case alone = odd_case({});
  const auto bytes = [](const Case& of) {
    return model::lay_out_homes(of.config, of.shape, of.placement);
  };
  const model::ModelHomes whole = bytes(alone);
  for (std::size_t p = 0; p < whole.parameters.size(); ++p) {
    std::uint64_t sum = 0;
    for (std::int64_t r = 0; r < 6; ++r)
      sum += bytes(odd_case({3, 2, r})).parameters[p].gradient.size_bytes;
    EXPECT_GE(sum, whole.parameters[p].gradient.size_bytes);
    EXPECT_LT(sum, whole.parameters[p].gradient.size_bytes + 6 * sizeof(float));
  }
  for (std::size_t c = 0; c < whole.tokens.size(); ++c) {
    std::uint64_t sum = 0;
    for (std::int64_t r = 0; r < 3; ++r) sum += bytes(odd_case({3, 2, r})).tokens[c].size_bytes;
    EXPECT_EQ(sum, whole.tokens[c].size_bytes);
  }
}

TEST(ManyRanks, AreRefusedWhereSomebodyWouldHaveNothing) {
  EXPECT_THROW(train_program(odd_case({8, 1, 0})), Error);  // of 7 heads
  Case short_chunk = odd_case({7, 1, 0});
  EXPECT_THROW(train_program(short_chunk), Error);  // 5 tokens in the last chunk
  short_chunk.shape.seq_len = 103;
  EXPECT_NO_THROW(train_program(short_chunk));
}

TEST(AutoChunk, GivesEachRankASliceThatIsEfficient) {
  const ModelConfig config = model::preset("llama2-7b");
  constexpr std::int64_t kMega = 1 << 20;
  EXPECT_EQ(model::auto_chunk_tokens(config, kMega, DType::kBf16), 8192);
  EXPECT_EQ(model::auto_chunk_tokens(config, kMega, DType::kBf16, {8, 1, 0}), 65536);
  EXPECT_EQ(model::auto_chunk_tokens(config, kMega, DType::kBf16, {1, 8, 0}), 8192);
  EXPECT_EQ(model::auto_chunk_tokens(config, 4096, DType::kBf16, {8, 1, 0}), 4096);
}

}  // namespace
}  // namespace ebbtide::testing
