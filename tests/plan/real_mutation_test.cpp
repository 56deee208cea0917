// Plans of the Llama step with random changes: the verifier rejects them, or they are right in
// every order.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "tests/plan/real_plan.hpp"
#include "tests/plan/trial.hpp"

namespace ebbtide::plan_test {
namespace {

using enum PlanFault;

void expect_only(const Tally& tally, const std::string& kind, const std::set<PlanFault>& named) {
  const auto faults = tally.faults.find(kind);
  ASSERT_NE(faults, tally.faults.end()) << kind << " was never tried";
  for (const auto& [fault, times] : faults->second)
    EXPECT_TRUE(named.contains(fault)) << kind << " is called " << name(fault) << " " << times;
}

// No wait of these plans is idle, so that none may go; and each change has the name of what it
// breaks first.
void expect_names_of_what_was_planted(const Tally& tally) {
  expect_only(tally, "a wait dropped", {kUnorderedRead, kUnorderedReuse});
  expect_only(tally, "a wait lowered", {kUnorderedRead, kUnorderedReuse});
  expect_only(tally, "waits handed on to the next task", {kUnorderedRead, kUnorderedReuse});
  expect_only(tally, "one disk offset written twice", {kNone, kUnorderedReuse});
  expect_only(tally, "a width changed", {kNone, kMalformed});
  expect_only(tally, "dropped", {kNone, kWrongContent, kUnorderedRead, kUnorderedReuse, kEndState});
  std::set<PlanFault> met;
  for (const auto& [kind, faults] : tally.faults)
    for (const auto& [fault, times] : faults) met.insert(fault);
  if (tally.tried < 5000) return;
  EXPECT_EQ(met.size(), 9U);  // all there are, and none
}

TEST(RealPlanMutations, AreRejectedOrRightInEveryOrder) {
  const int count = mutation_count(10'000);
  Tally tally;
  std::uint64_t seed = 0;
  for (const auto& make : {plan_with_activations_on_the_host, plan_with_activations_on_disk,
                           plan_with_recomputing_and_state_on_disk}) {
    RealPlan made = make(kSmallScale);
    Dice dice(++seed);
    SCOPED_TRACE(seed);
    const Trial trial(std::move(made.program), std::move(made.plan), seed, Content::kWords);
    ASSERT_EQ(trial.wrong_orders(trial.plan, 20), 0);
    try_mutations(trial, (count + 2) / 3, dice, tally);
    if (HasFatalFailure()) return;
  }
  RecordProperty("accepted", tally.accepted);
  EXPECT_GE(tally.accepted, count / 100);
  EXPECT_LE(tally.accepted, count / 5);
  EXPECT_GE(tally.races_shown, tally.races * 9 / 10) << tally.races;
  expect_names_of_what_was_planted(tally);
}

}  // namespace
}  // namespace ebbtide::plan_test
