#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/plan/naive_planner.hpp"
#include "tests/plan/plan_builder.hpp"
#include "tests/plan/trial.hpp"

namespace ebbtide::plan_test {
namespace {

constexpr RandomShape kSmall{.ops_min = 8, .ops_max = 25, .size_max_bytes = 600};

// The bytes that one op needs side by side, above the homes.
std::uint64_t largest_op(const Program& program, Tier tier) {
  std::uint64_t largest = 0;
  for (OpId op = 0; op < program.op_count(); ++op) {
    std::uint64_t sum = 0;
    for (const Use use : program.uses(op)) sum += extent(program.value(use.value).size_bytes, tier);
    if (program.operand_tier(op) == tier) largest = std::max(largest, sum);
  }
  return largest;
}

std::uint64_t all_values(const Program& program, Tier tier) {
  std::uint64_t sum = 0;
  for (ValueId value = 0; value < program.value_count(); ++value)
    sum += extent(program.value(value).size_bytes, tier);
  return sum;
}

// A plan with little room, from the first few draws that find one.
Plan tight_plan(const Program& program, std::uint64_t seed) {
  Dice dice(seed);
  const auto& homes = program.home_bytes();
  for (double slack = 1;; slack *= 1.1) {
    const double device = slack * static_cast<double>(largest_op(program, Tier::kDevice));
    const double host = slack * static_cast<double>(largest_op(program, Tier::kHost));
    const Budgets budgets{homes[0] + static_cast<std::uint64_t>(device),
                          homes[1] + static_cast<std::uint64_t>(host) + 3 * kPageAlignment,
                          homes[2] + all_values(program, Tier::kNvme)};
    const NaiveOptions options{.seed = dice.between(0, ~0U),
                               .nvme_width = static_cast<std::uint32_t>(dice.between(1, 8))};
    if (auto plan = naive_plan(program, budgets, options)) return *plan;
  }
}

Trial tight_trial(std::uint64_t seed, const RandomShape& shape = kSmall) {
  Program program = random_program(seed, shape);
  Plan plan = tight_plan(program, seed);
  return Trial(std::move(program), std::move(plan), seed);
}

TEST(VerifyRandomPlans, AcceptsPlansThatAreRightInEveryOrder) {
  int through_disk = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Trial trial = tight_trial(seed, {.ops_min = 20, .ops_max = 60, .size_max_bytes = 4096});
    const Verdict verdict = verify(trial.program, trial.plan);
    ASSERT_TRUE(verdict.ok()) << "seed " << seed << ": " << verdict.message;
    ASSERT_EQ(trial.wrong_orders(trial.plan, 20), 0) << "seed " << seed;
    through_disk += !trial.plan.tasks[index(Lane::kNvmeWrite)].empty();
  }
  EXPECT_GE(through_disk, 100);  // not only easy plans
}

TEST(VerifyRandomPlans, RejectsEveryPlanWithoutOneOfItsWaits) {
  int shown = 0, races = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Trial trial = tight_trial(seed);
    for (std::size_t wait = 0; wait < trial.plan.waits.size(); ++wait) {
      const Plan plan = without_wait(trial.plan, wait);
      ASSERT_FALSE(verify(trial.program, plan).ok()) << "seed " << seed << " wait " << wait;
      shown += trial.wrong_orders(plan, 30) > 0;
      ++races;
    }
  }
  // Most of them do go wrong: the verifier does not reject for the sake of it.
  EXPECT_GE(shown, races / 2) << races;
}

TEST(VerifyMutations, AreRejectedOrRightInEveryOrder) {
  const int count = mutation_count(10'000);
  Tally tally;
  for (std::uint64_t seed = 0; tally.tried < count && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    try_mutations(tight_trial(seed), 50, dice, tally);
  }
  RecordProperty("accepted", tally.accepted);
  RecordProperty("races", tally.races);
  RecordProperty("races_shown", tally.races_shown);
  EXPECT_GE(tally.accepted, count / 100);
  EXPECT_LE(tally.accepted, count / 2);
  EXPECT_GE(tally.races_shown, tally.races / 2);
}

}  // namespace
}  // namespace ebbtide::plan_test
