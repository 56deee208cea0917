#include "src/train/planning_memory.hpp"

#include <gtest/gtest.h>

#include <string>

#include "ebbtide/error.hpp"
#include "tests/train/small_run.hpp"

namespace ebbtide::train {
namespace {

class PlanningMemoryOf : public testing::Test {
 protected:
  PlanningMemoryOf() { write_small_model(directory_.path(), kUntied); }
  // 128 chunks of 8 tokens.
  TrainOptions options(Where where, std::int64_t group) const {
    TrainOptions options = small_options(directory_.path(), where);
    options.run.seq_len = 1024;
    options.planning.chunk_tokens = 8;
    options.planning.attention_group = group;
    options.mode = RunMode::kDryRun;
    return options;
  }

  static constexpr auto kUntied = model::ModelConfig::Embeddings::kUntied;
  const model::ModelConfig config_ = small_config(kUntied);
  test::TemporaryDirectory directory_;
};

TEST_F(PlanningMemoryOf, EveryTierAndGroupCoversThePlansOfTheBill) {
  for (const Where where : kEverywhere) {
    for (const std::int64_t group : {1, 8}) {
      for (const std::int64_t accumulation : {1, 5}) {
        TrainOptions options = this->options(where, group);
        options.run.grad_accumulation = accumulation;
        const Recorder planned = run(options, std::make_unique<MadeSequences>(1024));
        ASSERT_EQ(planned.bill.constant.at(0).category, "programs and plans");
        const std::uint64_t held = planned.bill.constant[0].bytes;
        const std::uint64_t estimate = planning_memory(config_, options, 0).kept_bytes;
        EXPECT_GE(estimate, held) << "group " << group << ", " << accumulation << " batches";
        EXPECT_LE(estimate, 4 * held) << "group " << group << ", " << accumulation << " batches";
      }
    }
  }
}

TEST_F(PlanningMemoryOf, EvaluationIsCounted) {
  const TrainOptions options = this->options(Where::kNvme, 1);
  const PlanningMemory without = planning_memory(config_, options, 0);
  const PlanningMemory with = planning_memory(config_, options, 1024);
  EXPECT_NEAR(static_cast<double>(with.kept_bytes), 1.5 * static_cast<double>(without.kept_bytes),
              1.0);
  EXPECT_GT(with.peak_bytes, without.peak_bytes);
}

TEST_F(PlanningMemoryOf, TheLargestNumbersOverflowNothing) {
  TrainOptions options = this->options(Where::kNvme, 1);
  options.run.seq_len = std::int64_t{1} << 40;
  options.planning.chunk_tokens = 1;
  EXPECT_GT(planning_memory(config_, options, options.run.seq_len).kept_bytes, 1ULL << 62);
}

std::string refusal(const model::ModelConfig& config, const TrainOptions& options,
                    std::uint64_t memory_bytes) {
  try {
    check_planning_fits(config, options, 0, {memory_bytes, "the machine", 0});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::kDoesNotFit));
    return error.what();
  }
  return "accepted";
}

TEST_F(PlanningMemoryOf, MoreThanThereIsIsRefusedWithTheSmallestChunkThatFits) {
  TrainOptions options = this->options(Where::kNvme, 1);
  const std::uint64_t need = planning_memory(config_, options, 0).peak_bytes;
  EXPECT_EQ(refusal(config_, options, need), "accepted");
  EXPECT_NE(refusal(config_, options, need - 1).find("--chunk-tokens 16 fits"), std::string::npos);
  const std::string text = refusal(config_, options, need / 8);
  EXPECT_TRUE(text.starts_with("--chunk-tokens 8: to plan 1024 tokens in 128 chunks takes about"))
      << text;
  EXPECT_NE(text.find("the machine has"), std::string::npos) << text;
  EXPECT_NE(text.find("--chunk-tokens 32 fits"), std::string::npos) << text;
  options.planning.chunk_tokens = 32;
  EXPECT_EQ(refusal(config_, options, need / 8), "accepted");
  options.planning.chunk_tokens = 16;
  EXPECT_NE(refusal(config_, options, need / 8), "accepted");
}

}  // namespace
}  // namespace ebbtide::train
