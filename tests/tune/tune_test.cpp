// Tuning as a whole: with made-up parts, and with real ones on a small model.
#include "src/tune/tune.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/train/train.hpp"
#include "src/tune/outcome_text.hpp"
#include "src/tune/predictor.hpp"
#include "tests/train/small_run.hpp"
#include "tests/tune/made_up_runs.hpp"

namespace ebbtide::tune {
namespace {

// Predictions and measurements alike: 5 s a step but where chunks have 1024 tokens.
double seconds_of(const Setting& setting) {
  return setting.planning.chunk_tokens == 1024 ? 4.0 : 5.0;
}

Parts parts(MadeUpRuns& runs) {
  return {.predict = [](const Setting& setting) { return predicted(setting, seconds_of(setting)); },
          .measure = runs.measure(),
          .elapsed_s = [&runs] { return runs.clock_s; }};
}

Outcome tuned(MadeUpRuns& runs, const TuneOptions& options) {
  TuneObserver nobody;
  return tune(options, parts(runs), nobody);
}

TuneOptions options(const Setting& start, Fixed fixed = {}) {
  return {.start = with({}, start), .fixed = std::move(fixed), .time_limit_s = 1e6};
}

MadeUpRuns as_predicted() {
  return MadeUpRuns([](const Setting& setting, std::size_t) { return seconds_of(setting); });
}

TEST(Tune, EndsWithWhatWasMeasuredToBeFaster) {
  MadeUpRuns runs = as_predicted();
  const Outcome outcome = tuned(runs, options(with_chunk(256)));
  EXPECT_FALSE(outcome.keeps_start());
  EXPECT_EQ(outcome.best().setting, with_chunk(1024));
  const std::string text = tune::text(outcome);
  EXPECT_NE(text.find(" settings were predicted and 5 measured, in "), std::string::npos) << text;
  EXPECT_NE(text.find("1.25 times faster than the start: median of 5 interleaved pairs"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("flags:\n  --chunk-tokens 1024\n"), std::string::npos) << text;
  EXPECT_NE(text.find("chunks have 1024 tokens, the start's 256"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(tune::json(outcome, "p.toml"));
  EXPECT_EQ(json["keeps_start"], false);
  EXPECT_EQ(json["gain"], 1.25);
  EXPECT_EQ(json["paste"], "--chunk-tokens 1024");
  EXPECT_EQ(json["profile"], "p.toml");
  EXPECT_NE(notes(outcome)[1].find("1.25 (1.25 to 1.25)"), std::string::npos);
}

TEST(Tune, KeepsTheStartWhereThePredictionWasWrong) {
  MadeUpRuns runs([](const Setting& setting, std::size_t) {
    return setting.planning.chunk_tokens == 1024 ? 6.0 : 5.0;
  });
  const Outcome outcome = tuned(runs, options(with_chunk(256)));
  EXPECT_TRUE(outcome.keeps_start());
  EXPECT_EQ(outcome.best().setting, with_chunk(256));
  EXPECT_NE(tune::text(outcome).find("it is kept"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(tune::json(outcome, ""))["gain"], 1.0);
  EXPECT_NE(notes(outcome)[1].find("start's"), std::string::npos);
}

TEST(Tune, LeavesWhatIsFixed) {
  MadeUpRuns runs = as_predicted();
  const Outcome outcome = tuned(runs, options(with_chunk(256), {"chunk-tokens"}));
  EXPECT_TRUE(outcome.keeps_start());
  for (const Predicted& each : outcome.predicted)
    EXPECT_EQ(each.setting.planning.chunk_tokens, 256);
  EXPECT_THROW(tuned(runs, options({}, {kTunable.begin(), kTunable.end()})), Error);
}

TEST(Tune, EndsWithTheStartWhenItIsStoppedEarly) {
  MadeUpRuns runs = as_predicted();
  TuneObserver nobody;
  for (const std::size_t last : {0, 3}) {
    Parts stopped = parts(runs);
    std::size_t count = 0;
    stopped.predict = [&](const Setting& setting) {
      if (count++ == last) cancel();
      return predicted(setting, seconds_of(setting));
    };
    const Outcome outcome = tune(options(with_chunk(256)), stopped, nobody);
    EXPECT_TRUE(outcome.was_interrupted());
    EXPECT_EQ(outcome.best().setting, with_chunk(256));
    const std::string text = tune::text(outcome);
    EXPECT_NE(text.find("interrupted"), std::string::npos) << text;
    EXPECT_NE(text.find("the start is kept"), std::string::npos) << text;
  }
}

TEST(Tune, RefusesAStartThatDoesNotFit) {
  MadeUpRuns runs = as_predicted();
  Parts broken = parts(runs);
  broken.predict = [](const Setting& setting) {
    return Predicted{.setting = setting, .why_not = "too small"};
  };
  TuneObserver nobody;
  EXPECT_THROW(tune(options({}), broken, nobody), Error);
}

TEST(Tune, SharesItsTimeBetweenPredictionsAndRuns) {
  MadeUpRuns runs = as_predicted();
  Parts slow = parts(runs);
  slow.predict = [&runs](const Setting& setting) {
    runs.clock_s += 10;
    return predicted(setting, seconds_of(setting));
  };
  TuneOptions within = options(with_chunk(256));
  within.time_limit_s = 100;
  TuneObserver nobody;
  const Outcome outcome = tune(within, slow, nobody);
  EXPECT_EQ(outcome.predicted.size(), 4) << "and the start: 50 s of them";
  EXPECT_LE(runs.clock_s, 100);
  EXPECT_FALSE(outcome.confirmed.start.seconds.empty());
}

class TuneSmallModel : public testing::Test {
 protected:
  TuneSmallModel() {
    train::write_small_model(directory_.path(), model::ModelConfig::Embeddings::kUntied);
    std::filesystem::create_directory(directory_ / "swap");
    start_ = train::small_options(directory_.path(), train::Where::kHost);
    start_.memory.nvme_paths = {directory_ / "swap"};
    start_.run.seq_len = 96;
    start_.data = {directory_.write("data.txt", std::string(4096, 'x'))};
  }

  test::TemporaryDirectory directory_;
  train::TrainOptions start_;
};

TEST_F(TuneSmallModel, IsPredictedAsTrainingPlansIt) {
  Predictor predictor(start_, [] {});
  train::Stop stop;
  for (const std::int64_t chunk : {32, 96}) {
    const Setting setting = with_chunk(chunk);
    const Predicted predicted = predictor.predict(setting);
    ASSERT_TRUE(predicted.fits()) << predicted.why_not;
    const RunFigures run = measure_run(with(start_, setting), {.steps = 2}, stop);
    EXPECT_DOUBLE_EQ(predicted.step_seconds, run.predicted_seconds);
    EXPECT_EQ(predicted.chunk_tokens, run.chunk_tokens);
    EXPECT_GT(run.step_seconds, 0);
    EXPECT_GT(run.run_seconds, 3 * 0.5 * run.step_seconds);
  }
}

// Other transfers are planned on the programs that "auto" chose; what training then plans by itself
// is as fast or faster.
TEST_F(TuneSmallModel, IsPredictedWithOtherTransfersToo) {
  Predictor predictor(start_, [] {});
  const Predicted base = predictor.predict({});
  Setting late;
  late.planning.prefetch_chunk_steps = 0;
  late.planning.bucket_bytes = 0;
  const Predicted predicted = predictor.predict(late);
  EXPECT_GT(predicted.step_seconds, base.step_seconds);
  EXPECT_NE(predicted.plan_fingerprint, base.plan_fingerprint);
  EXPECT_EQ(predicted.came_to, base.came_to);
}

TEST_F(TuneSmallModel, IsSearchedAnewAfterAStartWithTransfersOfItsOwn) {
  Setting late;
  late.planning.prefetch_chunk_steps = 0;
  Predictor predictor(start_, [] {});
  predictor.predict(late);
  EXPECT_FALSE(predictor.predict({}).tried.empty());
}

TEST_F(TuneSmallModel, DoesNotFitAsAResultAndStopsBetweenPlans) {
  train::TrainOptions tight = start_;
  tight.memory.device_bytes = 4096;
  EXPECT_FALSE(Predictor(tight, [] {}).predict({}).fits());
  EXPECT_THROW(Predictor(start_, cancel).predict({}), Error);
}

TEST_F(TuneSmallModel, LeavesNothingOfItsRuns) {
  start_.checkpoint.save = directory_ / "save";
  start_.checkpoint.save_every = 1;
  train::Stop stop;
  measure_run(start_, {.steps = 1}, stop);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "save"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "swap"));
  const RunFigures given_up = measure_run(start_, {.steps = 1000, .give_up_seconds = 0}, stop);
  EXPECT_GT(given_up.step_seconds, 0);
  stop.request("SIGINT");
  EXPECT_THROW(measure_run(start_, {.steps = 1}, stop), Error);
}

}  // namespace
}  // namespace ebbtide::tune
