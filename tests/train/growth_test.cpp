// A run holds no more after 200 steps than after its second one.
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

#include "tests/execute/allocations.hpp"
#include "tests/train/small_run.hpp"

namespace ebbtide::train {
namespace {

constexpr std::int64_t kSteps = 200;

std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

class Growth final : public TrainObserver {
 public:
  void stepped(const report::StepReport& report) override {
    if (report.step == 2) {
      files_ = open_files();
      live_ = test::live_allocation_count();
    }
    if (report.step != kSteps) return;
    live_end_ = test::live_allocation_count();
    files_end_ = open_files();
  }
  void expect_none() const {
    EXPECT_GT(files_, 0);
    EXPECT_EQ(files_end_, files_);
    EXPECT_EQ(live_end_, live_);
  }

 private:
  std::ptrdiff_t files_ = 0;
  std::ptrdiff_t files_end_ = 0;
  std::int64_t live_ = 0;
  std::int64_t live_end_ = 0;
};

class TrainGrowth : public testing::TestWithParam<OffloadCheck> {};

TEST_P(TrainGrowth, IsNoneOnceTheFirstStepIsDone) {
  const test::TemporaryDirectory directory;
  write_small_model(directory.path(), model::ModelConfig::Embeddings::kUntied);
  TrainOptions options = small_options(directory.path(), Where::kNvme);
  options.run.steps = kSteps;
  options.optimizer.learning_rate = 1e-4;
  options.transfer.freed_blocks = FreedBlocks::kLeave;
  options.transfer.offload_check = GetParam();
  Growth growth;
  Stop stop;
  Sources sources;
  // always the same one: data that grows would be the test's own
  sources.training = std::make_unique<ListedSequences>(std::vector<Sequence>{made_sequence(1, 80)});
  train(options, std::move(sources), growth, stop);
  growth.expect_none();
}

INSTANTIATE_TEST_SUITE_P(Each, TrainGrowth,
                         testing::Values(OffloadCheck::kNone, OffloadCheck::kChecksum),
                         [](const auto& tested) {
                           return tested.param == OffloadCheck::kNone ? "Without" : "Checksums";
                         });

}  // namespace
}  // namespace ebbtide::train
