// Candidates against the start, with runs whose seconds are given.
#include "src/tune/confirm.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/tune/made_up_runs.hpp"

namespace ebbtide::tune {
namespace {

const Setting kStart = with_chunk(256);

std::vector<Predicted> candidates(const std::vector<std::int64_t>& chunks) {
  std::vector<Predicted> all;
  for (const std::int64_t chunk : chunks) all.push_back(predicted(with_chunk(chunk), 1));
  return all;
}

Confirmation confirmed(MadeUpRuns& runs, const std::vector<std::int64_t>& chunks,
                       double time_limit_s = 1e6) {
  return confirm(with({}, kStart), predicted(kStart, 1), candidates(chunks),
                 runs.parts(time_limit_s));
}

// Seconds by chunk size.
MadeUpRuns runs_of(std::map<std::int64_t, double> seconds) {
  return MadeUpRuns([seconds = std::move(seconds)](const Setting& setting, std::size_t) {
    return seconds.at(*setting.planning.chunk_tokens);
  });
}

TEST(TuneConfirm, ChoosesWhatIsFastest) {
  MadeUpRuns runs = runs_of({{256, 3.0}, {512, 2.5}, {1024, 2.0}, {128, 4.0}});
  const Confirmation result = confirmed(runs, {512, 128, 1024});
  ASSERT_TRUE(result.best);
  EXPECT_EQ(result.candidates[*result.best].chunk_tokens, 1024);
  EXPECT_DOUBLE_EQ(result.candidates[*result.best].gain(), 1.5);
  EXPECT_EQ(result.candidates[*result.best].gains.size(), 5);
  EXPECT_EQ(result.ended, Ended::kDone);
}

TEST(TuneConfirm, KeepsTheStartWhereNothingIsFaster) {
  MadeUpRuns slower = runs_of({{256, 3.0}, {512, 3.1}, {1024, 9.0}});
  EXPECT_FALSE(confirmed(slower, {512, 1024}).best);
  MadeUpRuns same = runs_of({{256, 3.0}, {512, 2.99}});
  EXPECT_FALSE(confirmed(same, {512}).best) << "a third of a percent is no gain";
  MadeUpRuns none = runs_of({{256, 3.0}});
  EXPECT_FALSE(confirmed(none, {}).best);
}

// Of the first rounds it is as fast as it looks by chance.
TEST(TuneConfirm, IsNotTakenInByALuckyRound) {
  std::size_t own_runs = 0;
  MadeUpRuns runs([&own_runs](const Setting& setting, std::size_t) {
    if (setting == kStart) return 3.0;
    return own_runs++ == 0 ? 1.0 : 3.1;
  });
  const Confirmation result = confirmed(runs, {512});
  EXPECT_FALSE(result.best);
  EXPECT_EQ(result.candidates[0].gains.size(), 5);
}

// What was dropped after one round is not known well enough to win, whatever became of the others.
TEST(TuneConfirm, PrefersWhatWasProvedOften) {
  std::size_t own_runs = 0;
  MadeUpRuns runs([&own_runs](const Setting& setting, std::size_t) {
    if (setting == kStart) return 3.0;
    if (setting == with_chunk(512)) return 2.3;
    return own_runs++ == 0 ? 2.0 : 2.7;
  });
  const Confirmation result = confirmed(runs, {512, 1024});
  EXPECT_EQ(result.candidates[0].gains.size(), 1);
  EXPECT_EQ(*result.best, 1);
}

// A machine that grows slower and slower: runs after others would look bad.
TEST(TuneConfirm, ComparesRunsOfOneRoundAndTurnsTheirOrder) {
  MadeUpRuns runs = runs_of({{256, 3.0}, {512, 2.0}});
  confirmed(runs, {512});
  ASSERT_EQ(runs.runs.size(), 11) << "a warm-up, then five pairs";
  for (std::size_t pair = 0; pair < 5; ++pair) {
    const std::size_t first = 1 + 2 * pair;
    EXPECT_EQ(runs.runs[first] == kStart, pair % 2 == 0);
    EXPECT_NE(runs.runs[first], runs.runs[first + 1]);
  }
}

TEST(TuneConfirm, HalvesTheCandidatesFromRoundToRound) {
  MadeUpRuns runs = runs_of({{256, 3.0}, {1, 2.0}, {2, 2.1}, {3, 2.2}, {4, 2.3}});
  const Confirmation result = confirmed(runs, {4, 3, 2, 1});
  const std::vector<std::size_t> pairs{1, 1, 2, 5};
  for (std::size_t at = 0; at < pairs.size(); ++at)
    EXPECT_EQ(result.candidates[at].gains.size(), pairs[at]) << at;
  EXPECT_EQ(*result.best, 3);
}

TEST(TuneConfirm, EndsWithinItsTime) {
  for (const double limit_s : {4.0, 7.0, 20.0, 80.0}) {
    MadeUpRuns runs = runs_of({{256, 1.0}, {512, 0.5}, {1024, 1.0}});
    const Confirmation result = confirmed(runs, {512, 1024}, limit_s);
    EXPECT_LE(runs.clock_s, limit_s);
    EXPECT_EQ(result.best.has_value(), limit_s > 7.0) << limit_s;
  }
  MadeUpRuns slow = runs_of({{256, 10.0}, {512, 1.0}});
  const Confirmation result = confirmed(slow, {512}, 30);
  EXPECT_EQ(result.ended, Ended::kTimeUp);
  EXPECT_FALSE(result.best) << "it was never measured";
}

// Four candidates share what is time for the pairs of one.
TEST(TuneConfirm, MeasuresFewerSoThatOneCanWin) {
  MadeUpRuns runs = runs_of({{256, 1.0}, {1, 0.5}, {2, 0.5}, {3, 0.5}, {4, 0.5}});
  const Confirmation result = confirmed(runs, {4, 3, 2, 1}, 20);
  ASSERT_TRUE(result.best);
  EXPECT_EQ(*result.best, 0);
}

TEST(TuneConfirm, StartsNoRunThatItHasNoTimeFor) {
  MadeUpRuns runs = runs_of({{256, 1.0}, {1, 2.9}, {2, 2.9}, {3, 2.9}});
  confirmed(runs, {1, 2, 3}, 20);
  EXPECT_LE(runs.clock_s, 20);
}

TEST(TuneConfirm, WantsThreePairs) {
  Measured measured{.gains = {1.6, 1.6}};
  EXPECT_FALSE(measured.is_faster());
  measured.gains = {1.02, 1.02, 1.02};
  EXPECT_TRUE(measured.is_faster());
  measured.gains = {1.2, 1.2, 1.2, 0.9, 0.9};
  EXPECT_FALSE(measured.is_faster()) << "two of five pairs are slower";
  measured.gains = {1.2, 1.2, 1.2, 1.2, 0.9};
  EXPECT_TRUE(measured.is_faster());
  measured.why_not = "failed";
  EXPECT_FALSE(measured.is_faster());
}

TEST(TuneConfirm, EndsWithTheBestSoFarWhenItIsStopped) {
  for (const std::size_t last : {0, 2, 3, 6, 7}) {
    MadeUpRuns runs([last](const Setting& setting, std::size_t run) {
      if (run >= last) cancel();
      return setting == kStart ? 3.0 : 1.5;
    });
    const Confirmation result = confirmed(runs, {512});
    EXPECT_EQ(result.ended, Ended::kInterrupted);
    EXPECT_EQ(result.best.has_value(), last == 7) << "the seventh run makes the third pair whole";
    EXPECT_EQ(result.candidates[0].gains.size(), (last == 0 ? 0 : last - 1) / 2);
  }
}

TEST(TuneConfirm, LeavesOutACandidateWhoseRunFails) {
  MadeUpRuns runs([](const Setting& setting, std::size_t) {
    if (setting == with_chunk(512)) throw Error(Errc::kDoesNotFit, "too small");
    return setting == kStart ? 3.0 : 2.0;
  });
  const Confirmation result = confirmed(runs, {512, 1024});
  EXPECT_EQ(result.candidates[0].why_not, "too small");
  EXPECT_EQ(*result.best, 1);
  EXPECT_EQ(std::ranges::count(runs.runs, with_chunk(512)), 0);
  MadeUpRuns broken(
      [](const Setting&, std::size_t) -> double { throw Error(Errc::kDoesNotFit, "too small"); });
  EXPECT_THROW(confirmed(broken, {512}), Error) << "without the start there is no comparison";
}

TEST(TuneConfirm, GivesUpWhatIsHopeless) {
  std::vector<double> limits;
  const Confirmation result =
      confirm(with({}, kStart), predicted(kStart, 1), candidates({512}),
              {.measure =
                   [&limits](const train::TrainOptions&, const ShortRun& run) {
                     limits.push_back(run.give_up_seconds);
                     return RunFigures{.step_seconds = 2, .run_seconds = 4};
                   },
               .elapsed_s = [] { return 0.0; },
               .time_limit_s = 100,
               .on_run = [](int, const Setting&) {}});
  ASSERT_GE(limits.size(), 3);
  EXPECT_GT(limits[1], 1e9) << "the start's own run is never given up";
  EXPECT_EQ(limits[2], 6);
  EXPECT_FALSE(result.best);
}

}  // namespace
}  // namespace ebbtide::tune
