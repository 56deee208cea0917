// What is predicted of published cases, against what was published. Each row is held to what it is
// good for (published_uses.cpp).
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/plan_command/published_judgement.hpp"
#include "tests/plan_command/published_predictions.hpp"

namespace ebbtide::test {
namespace {

std::vector<std::string> all_ids() {
  std::vector<std::string> ids;
  for (const PublishedCase& it : published_cases()) ids.push_back(it.id());
  return ids;
}

std::set<std::string> ids_for(const std::set<Purpose>& purposes) {
  std::set<std::string> ids;
  for (const PublishedCase& it : published_cases())
    if (purposes.contains(use_of(it).purpose)) ids.insert(it.id());
  return ids;
}

class PublishedRow : public testing::TestWithParam<std::string> {};

TEST_P(PublishedRow, IsAsPredicted) {
  const PublishedCase& row = published(GetParam());
  const Judgement judgement = judge(row);
  EXPECT_TRUE(judgement.holds) << row.text("value") << " was published, " << judgement.predicted
                               << " is predicted: " << judgement.verdict;
}

INSTANTIATE_TEST_SUITE_P(All, PublishedRow, testing::ValuesIn(all_ids()),
                         [](const auto& row) { return "Row" + row.param; });

// So that no row that a prediction fails is left out of the tests.
TEST(PublishedRows, AreUsedForWhatTheyAreGoodFor) {
  using Ids = std::set<std::string>;
  EXPECT_EQ(ids_for({Purpose::kBytes}), (Ids{"7", "8", "18", "55", "57", "58", "63"}));
  EXPECT_EQ(ids_for({Purpose::kVerdict}), (Ids{"9", "22", "23", "25", "64"}));
  EXPECT_EQ(ids_for({Purpose::kFraction}), (Ids{"10", "13"}));
  EXPECT_EQ(ids_for({Purpose::kFitted}), Ids(kFittedRows.begin(), kFittedRows.end()));
  EXPECT_EQ(ids_for({Purpose::kTime}), (Ids{"37", "41", "45"}));
  EXPECT_EQ(ids_for({Purpose::kTimeBound}), (Ids{"35", "47", "51"}));
}

// A plan may say no.
TEST(PublishedRows, AreRefusedWhereTheHostIsTooSmall) {
  const PublishedCase& row = published("63");
  plan::Request request = recomputing_request_of(row);
  request.options.planning.chunk_tokens = 32768;  // few, so that refusing is quick
  EXPECT_FALSE(plan::plan_run(request).fits());
  request.machine->host.memory_bytes = std::uint64_t{1} << 40;
  EXPECT_TRUE(plan::plan_run(request).fits());
}

TEST(PublishedBuffers, DoNotFitACardOf24ByThemselves) {
  EXPECT_GT(predicted_bytes(published("8")), published("9").number("gpu_mem_gb") * kGibibyte);
}

// The chunks of a program are coarser than tokens: with as many saved as the fraction says what
// leaves has room on the host, and with one more it has none.
TEST(PublishedFraction, IsWhereAProgramUnderItsPolicyFillsTheHost) {
  const PublishedCase& row = published("10");
  constexpr std::int64_t kChunkTokens = 16384;
  const double chunks = row.tokens() / kChunkTokens;
  const double saved = std::floor(token_fraction(row).value() * chunks);
  const double host = row.number("host_mem_gb_per_node") * kGibibyte / row.gpus();
  EXPECT_LE(leaving_bytes(row, kChunkTokens, saved / chunks), host);
  EXPECT_GT(leaving_bytes(row, kChunkTokens, (saved + 1) / chunks), host);
}

TEST(PublishedFraction, IsBoundByTheHostWhereCopiesHide) {
  for (const char* id : {"10", "13"}) {
    const TokenFraction fraction = token_fraction(published(id));
    EXPECT_GT(fraction.by_link, 1) << id;
    EXPECT_GT(fraction.by_link, fraction.by_host) << id;
  }
}

// Below the crossover of row 14 the link binds.
TEST(PublishedFraction, IsBoundByTheLinkWhereSequencesAreShort) {
  PublishedCase row = published("10");
  row.cells["seq_tokens"] = "65536";
  const TokenFraction fraction = token_fraction(row);
  EXPECT_LT(fraction.by_link, 1);
  EXPECT_EQ(fraction.value(), std::max(fraction.by_link, 0.0));
}

TEST(PublishedEfficiency, IsThatOfACard) {
  const ComputeEfficiency efficiency = fitted_efficiency();
  EXPECT_GT(efficiency.matmul, 0.2);
  EXPECT_LT(efficiency.matmul, 1);
  EXPECT_GT(efficiency.attention, 0.2);
  EXPECT_LT(efficiency.attention, 1);
  for (const char* id : kFittedRows)
    EXPECT_NEAR(predicted_seconds(published(id), efficiency), published(id).number("value"), 1e-6);
}

}  // namespace
}  // namespace ebbtide::test
