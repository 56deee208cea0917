// Memory of a step against what the bill says of the same plans.
#include "src/report/memory_over_step.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "src/report/bill.hpp"
#include "tests/report/small_step.hpp"

namespace ebbtide::report {
namespace {

std::uint64_t of_category(const std::vector<BillLine>& lines, const std::string& category) {
  for (const BillLine& line : lines)
    if (line.category == category) return line.bytes;
  return 0;
}

TEST(MemoryOverStep, HasThePeakOfTheBill) {
  const SmallStep small;
  std::vector<Planned> planned;
  for (const ProgramRun& run : small.record.runs)
    planned.push_back({run.name, run.program, run.plan});
  const MemoryBill bill = memory_bill(planned, small.run.target.rates);
  const PerTier<TierMemory> memory = memory_over_step(small.record, 300);
  for (const Tier tier : {Tier::kDevice, Tier::kHost}) {
    const TierBill& billed = bill.tiers[index(tier)];
    EXPECT_EQ(memory[index(tier)].peak_bytes(), billed.named_bytes()) << name(tier);
    for (const CategoryBytes& category : memory[index(tier)].categories)
      EXPECT_GE(*std::ranges::max_element(category.bytes),
                of_category(billed.lines, category.category))
          << name(tier) << ", " << category.category;
  }
}

TEST(MemoryOverStep, StaysWithinTheBudgets) {
  const SmallStep small;
  const PerTier<TierMemory> memory = memory_over_step(small.record, 300);
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme})
    EXPECT_LE(memory[index(tier)].peak_bytes(), small.run.target.budgets.of(tier)) << name(tier);
}

// However coarse the stretches are, none hides the fullest moment.
TEST(MemoryOverStep, ShowsThePeakAtEveryResolution) {
  const SmallStep small;
  const PerTier<TierMemory> fine = memory_over_step(small.record, 2000);
  for (const std::size_t stretches : {1, 7, 100}) {
    const PerTier<TierMemory> coarse = memory_over_step(small.record, stretches);
    for (std::size_t tier = 0; tier < kTierCount; ++tier)
      EXPECT_EQ(coarse[tier].peak_bytes(), fine[tier].peak_bytes()) << stretches;
  }
}

// A step without a run: only what lives across steps is held, from its start to its end.
TEST(MemoryOverStep, CountsHomesAllTheTime) {
  SmallStep small;
  for (ProgramRun& run : small.record.runs) {
    ASSERT_FALSE(run.timeline.tasks[index(Lane::kCompute)].empty() &&
                 run.timeline.tasks[index(Lane::kHostCompute)].empty());
    run.start_s += small.record.step_seconds;  // the second half of a step twice as long
  }
  small.record.step_seconds *= 2;
  const TierMemory host = memory_over_step(small.record, 10)[index(Tier::kHost)];
  std::uint64_t first = 0;
  for (const CategoryBytes& category : host.categories) first += category.bytes.front();
  const std::uint64_t homes = small.record.runs.front().program->home_bytes()[index(Tier::kHost)];
  EXPECT_EQ(first, homes);
  EXPECT_GT(homes, 0U);
}

}  // namespace
}  // namespace ebbtide::report
