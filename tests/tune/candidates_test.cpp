// Which settings are predicted, and which of them are measured.
#include "src/tune/candidates.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/tune/made_up_runs.hpp"

namespace ebbtide::tune {
namespace {

const auto never = [] { return false; };

using Chunks = std::vector<std::optional<std::int64_t>>;

TEST(TuneChoices, AreAroundAutoAndWithinTheSequence) {
  const Choices choices = choices_of({}, {}, 512, 2048);
  EXPECT_EQ(choices.chunks, (Chunks{std::nullopt, 256, 1024, 128, 2048, 64}));
  EXPECT_EQ(choices.prefetches.front(), std::nullopt);
  EXPECT_EQ(choices.buckets.front(), std::nullopt);
  EXPECT_EQ(choices_of({}, {}, 96, 96).chunks, (Chunks{std::nullopt}));
}

TEST(TuneChoices, HoldWhatIsFixed) {
  Setting start = with_chunk(96);
  start.planning.prefetch_chunk_steps = 3;
  const Choices choices =
      choices_of(start, {"chunk-tokens", "prefetch-distance", "transfer-bucket-size"}, 512, 4096);
  EXPECT_EQ(choices.chunks, (Chunks{96}));
  EXPECT_EQ(choices.prefetches, (Chunks{3}));
  EXPECT_EQ(choices.buckets, (std::vector<std::optional<std::uint64_t>>{std::nullopt}));
}

// Fastest at 1024 tokens, two chunk-steps and a bucket of 4 MiB, each by itself.
double seconds_of(const Setting& setting) {
  const train::PlanningOptions& planning = setting.planning;
  const auto away = [](double value, double best) { return std::abs(std::log2(value / best)); };
  return 10 + away(static_cast<double>(planning.chunk_tokens.value_or(512)), 1024) +
         away(static_cast<double>(planning.prefetch_chunk_steps.value_or(16)), 2) +
         away(static_cast<double>(planning.bucket_bytes.value_or(1)), 4 << 20);
}

TEST(TuneWalk, FindsTheFastestOneChangeAfterTheOther) {
  std::size_t told = 0;
  const auto all = predict_settings(
      {}, choices_of({}, {}, 512, 8192),
      [](const Setting& setting) { return predicted(setting, seconds_of(setting)); },
      [&told](const Predicted&) { ++told; }, never);
  EXPECT_EQ(told, all.size());
  const auto& best = *std::ranges::min_element(all, {}, &Predicted::step_seconds);
  EXPECT_EQ(flags_text(best.setting),
            "--chunk-tokens 1024 --prefetch-distance 2 --transfer-bucket-size 4MiB");
  for (const Predicted& each : all)
    EXPECT_EQ(std::ranges::count(all, each.setting, &Predicted::setting), 1)
        << flags_text(each.setting);
}

// Large chunks pay only once loads come early.
TEST(TuneWalk, GoesRoundAsLongAsSomethingGains) {
  const auto all = predict_settings(
      {}, choices_of({}, {}, 512, 8192),
      [](const Setting& setting) {
        const bool is_large = setting.planning.chunk_tokens == 1024;
        const bool is_early = setting.planning.prefetch_chunk_steps == 4;
        return predicted(setting, is_early ? (is_large ? 7 : 9) : (is_large ? 11 : 10));
      },
      {}, never);
  EXPECT_EQ(flags_text(std::ranges::min_element(all, {}, &Predicted::step_seconds)->setting),
            "--chunk-tokens 1024 --prefetch-distance 4");
}

TEST(TuneWalk, PassesOverWhatDoesNotFitAndEndsInTime) {
  std::size_t count = 0;
  const auto all = predict_settings(
      {}, choices_of({}, {}, 512, 8192),
      [](const Setting& setting) {
        Predicted result = predicted(setting, seconds_of(setting));
        if (setting.planning.chunk_tokens == 1024) result.why_not = "does not fit";
        return result;
      },
      {}, [&count] { return ++count > 8; });
  EXPECT_EQ(all.size(), 9);
  const auto chosen = finalists(all, predicted(with_chunk(1), 99), {}, 8);
  ASSERT_FALSE(chosen.empty());
  for (const Predicted& each : chosen) EXPECT_NE(each.chunk_tokens, 1024);
}

TEST(TuneFinalists, AreTheFastestThenOtherChunks) {
  Setting prefetch = with_chunk(1024);
  prefetch.planning.prefetch_chunk_steps = 2;
  const std::vector<Predicted> all{predicted({}, 10.3), predicted(with_chunk(1024), 10.0),
                                   predicted(prefetch, 10.1), predicted(with_chunk(256), 11.0),
                                   predicted(with_chunk(128), 20.0)};
  const auto names = [](const std::vector<Predicted>& chosen) {
    std::vector<std::string> texts;
    for (const Predicted& each : chosen) texts.push_back(flags_text(each.setting));
    return texts;
  };
  const Predicted start = predicted(with_chunk(64), 12);
  EXPECT_EQ(names(finalists(all, start, {}, 4)),
            (std::vector<std::string>{"--chunk-tokens 1024", "auto", "--chunk-tokens 256",
                                      "--chunk-tokens 1024 --prefetch-distance 2"}));
  EXPECT_EQ(names(finalists(all, predicted({}, 10.3), {}, 2)),
            (std::vector<std::string>{"--chunk-tokens 1024",
                                      "--chunk-tokens 1024 --prefetch-distance 2"}))
      << "the start is no candidate, and the last place is for something near the best";
  EXPECT_TRUE(finalists({}, start, {}, 4).empty());
}

TEST(TuneFinalists, AreNeverTwoOfOnePlan) {
  std::vector<Predicted> all{predicted({}, 10), predicted(with_chunk(256), 10.1),
                             predicted(with_chunk(1024), 10.2)};
  Predicted start = predicted(with_chunk(64), 10.2);
  all[0].plan_fingerprint = all[1].plan_fingerprint = 7;
  all[2].plan_fingerprint = start.plan_fingerprint = 9;
  const auto chosen = finalists(all, start, {}, 4);
  ASSERT_EQ(chosen.size(), 1);
  EXPECT_EQ(chosen[0].setting, Setting());
}

TEST(TuneFinalists, HoldWhatAutoPassedOver) {
  Predicted best = predicted({}, 10);
  best.came_to.attention_group = 8;
  train::Candidate other = best.came_to;
  other.attention_group = 4;
  best.tried = {{.candidate = best.came_to, .fits = true, .step_seconds = 10},
                {.candidate = other, .fits = true, .step_seconds = 10.2}};
  const auto chosen = finalists({best}, predicted(with_chunk(64), 12), {}, 4);
  ASSERT_EQ(chosen.size(), 2);
  EXPECT_EQ(chosen[1].setting.planning.attention_group, 4);
  best.tried[1].step_seconds = 20;
  EXPECT_EQ(finalists({best}, predicted(with_chunk(64), 12), {}, 4).size(), 1);
}

}  // namespace
}  // namespace ebbtide::tune
