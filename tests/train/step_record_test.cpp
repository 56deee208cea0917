// What a run tells an observer that asks for records of its steps.
#include <gtest/gtest.h>

#include "src/report/exposure.hpp"
#include "tests/execute/allocations.hpp"
#include "tests/train/small_run.hpp"

namespace ebbtide::train {
namespace {

constexpr std::size_t kLength = 80;

// Keeps the records of steps from `first` on, with the report of each.
class Keeper final : public TrainObserver {
 public:
  explicit Keeper(std::int64_t first) : first_(first) {}
  bool wants_record(std::int64_t step) const override { return step >= first_; }
  void stepped(const report::StepReport& report) override { last_ = report; }
  void recorded(const report::StepRecord& record) override {
    EXPECT_EQ(record.step, last_.step) << "a record comes after its report";
    double h2d_s = 0;
    for (const report::ProgramRun& run : record.runs)
      h2d_s += report::exposed_seconds(*run.program, *run.plan, run.timeline)[index(Lane::kH2d)];
    exposed_h2d_s.push_back(h2d_s);
    records.push_back(record);
    reports.push_back(last_);
    plans.emplace_back();
    for (const report::ProgramRun& run : record.runs) plans.back().push_back(*run.plan);
  }

  std::vector<double> exposed_h2d_s;  // by record
  std::vector<report::StepRecord> records;
  std::vector<report::StepReport> reports;
  std::vector<std::vector<Plan>> plans;  // of each run: a record's end with its run
 private:
  std::int64_t first_;
  report::StepReport last_;
};

class StepRecords : public testing::Test {
 protected:
  StepRecords() { write_small_model(directory_.path(), model::ModelConfig::Embeddings::kUntied); }
  TrainOptions options() const {
    TrainOptions options = small_options(directory_.path(), Where::kNvme);
    options.run.grad_accumulation = 2;
    return options;
  }
  static void train_small(const TrainOptions& options, TrainObserver& observer) {
    Stop stop;
    Sources sources;
    sources.training =
        std::make_unique<ListedSequences>(std::vector<Sequence>{made_sequence(1, kLength)});
    train(options, std::move(sources), observer, stop);
  }

  test::TemporaryDirectory directory_;
};

TEST_F(StepRecords, AreOfTheStepsThatWereWanted) {
  Keeper keeper(3);
  train_small(options(), keeper);
  ASSERT_EQ(keeper.records.size(), 2U);
  EXPECT_EQ(keeper.records[0].step, 3);
  EXPECT_EQ(keeper.records[1].step, 4);
}

TEST_F(StepRecords, HoldEveryRunOfTheStepInTheOrderOfTime) {
  Keeper keeper(1);
  train_small(options(), keeper);
  ASSERT_EQ(keeper.records.size(), 4U);
  for (std::size_t i = 0; i < keeper.records.size(); ++i) {
    const report::StepRecord& record = keeper.records[i];
    EXPECT_EQ(record.step_seconds, keeper.reports[i].step_seconds);
    EXPECT_GT(record.data_seconds, 0);
    ASSERT_EQ(record.runs.size(), 3U);  // two micro-steps, then the optimizer
    EXPECT_EQ(record.runs.back().name, "optimizer");
    double end_s = 0;
    for (const report::ProgramRun& run : record.runs) {
      EXPECT_GE(run.start_s, end_s);
      end_s = run.start_s + run.timeline.step_seconds;
    }
    EXPECT_LE(end_s + record.data_seconds, record.step_seconds);
  }
}

// The engine's timeline lasts until its next run only: a record holds its own.
TEST_F(StepRecords, HoldTimelinesThatGiveTheFiguresOfTheReport) {
  Keeper keeper(1);
  train_small(options(), keeper);
  for (std::size_t i = 0; i < keeper.records.size(); ++i) {
    double compute_s = 0;
    for (std::size_t at = 0; at < keeper.records[i].runs.size(); ++at) {
      const report::ProgramRun& run = keeper.records[i].runs[at];
      const Plan& plan = keeper.plans[i][at];
      for (std::size_t lane = 0; lane < kLaneCount; ++lane)
        EXPECT_EQ(run.timeline.tasks[lane].size(), plan.tasks[lane].size());
      compute_s += run.timeline.busy_seconds(Lane::kCompute);
    }
    EXPECT_DOUBLE_EQ(compute_s, keeper.reports[i].compute_seconds);
    EXPECT_DOUBLE_EQ(keeper.exposed_h2d_s[i], keeper.reports[i].exposed_seconds[index(Lane::kH2d)]);
  }
}

TEST_F(StepRecords, LeaveEvaluationOut) {
  TrainOptions evaluated = options();
  evaluated.evaluation.every = 1;
  evaluated.evaluation.data = {directory_.write("held-out.txt", std::string(400, 'x'))};
  evaluated.data = {directory_.write("text.txt", std::string(400, 'y'))};
  Keeper keeper(1);
  Stop stop;
  train(evaluated, keeper, stop);
  ASSERT_EQ(keeper.records.size(), 4U);
  for (const report::StepRecord& record : keeper.records) EXPECT_EQ(record.runs.size(), 3U);
}

// Counts what the steps of a run allocate, one by one.
class Allocations final : public TrainObserver {
 public:
  enum class Records : std::uint8_t { kNone, kAll };
  explicit Allocations(Records records) : records_(records) { of_step_.reserve(16); }
  bool wants_record(std::int64_t) const override {
    before_ = test::allocation_count();
    return records_ == Records::kAll;
  }
  void stepped(const report::StepReport&) override {
    of_step_.push_back(test::allocation_count() - before_);
  }
  std::uint64_t of_last() const { return of_step_.back(); }

 private:
  Records records_;
  mutable std::uint64_t before_ = 0;
  std::vector<std::uint64_t> of_step_;
};

TEST_F(StepRecords, AllocateNothingOnceOneWasMade) {
  TrainOptions plain = options();
  plain.checksum = WeightChecksum::kNone;
  plain.transfer.freed_blocks = FreedBlocks::kLeave;
  Allocations without(Allocations::Records::kNone);
  train_small(plain, without);
  Allocations with(Allocations::Records::kAll);
  train_small(plain, with);
  EXPECT_EQ(with.of_last(), without.of_last());
}

}  // namespace
}  // namespace ebbtide::train
