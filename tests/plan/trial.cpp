#include "tests/plan/trial.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "tests/plan/mutation.hpp"

namespace ebbtide::plan_test {
namespace {

bool is_race(PlanFault fault) {
  return fault == PlanFault::kUnorderedRead || fault == PlanFault::kUnorderedReuse;
}

}  // namespace

Trial::Trial(Program of, Plan by, std::uint64_t seed, Content held)
    : program(std::move(of)),
      plan(std::move(by)),
      content(held),
      homes(initial_homes(program, seed, content)),
      right(run_in_order(program, homes, content)) {}

int Trial::wrong_orders(const Plan& tried, int orders) const {
  Interpreter interpreter(program, tried, content);
  int wrong = 0;
  for (int order = 0; order < orders; ++order)
    wrong += interpreter.run(homes, static_cast<std::uint64_t>(order)) != right;
  return wrong;
}

void try_mutations(const Trial& trial, int count, Dice& dice, Tally& tally) {
  for (int i = 0; i < count; ++i, ++tally.tried) {
    Plan plan = trial.plan;
    std::string changes = mutate(trial.program, plan, dice);
    const std::string kind = changes.substr(0, changes.find(':'));
    const bool twice = dice.chance(0.2);
    if (twice) changes += "; " + mutate(trial.program, plan, dice);
    const Verdict verdict = verify(trial.program, plan);
    if (!twice) ++tally.faults[kind][verdict.fault];
    ASSERT_NE(verdict.ok(), !verdict.message.empty()) << changes;
    if (verdict.ok()) {
      ++tally.accepted;
      ASSERT_EQ(trial.wrong_orders(plan, 100), 0) << changes;
    } else if (is_race(verdict.fault) && tally.races < tally.tried / 20) {
      ++tally.races;
      tally.races_shown += trial.wrong_orders(plan, 30) > 0;
    }
  }
}

int mutation_count(int otherwise) {
  const char* wanted = std::getenv("EBBTIDE_MUTATIONS");
  return wanted == nullptr ? otherwise : std::atoi(wanted);
}

}  // namespace ebbtide::plan_test
