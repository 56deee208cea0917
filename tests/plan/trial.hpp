// A program, a plan of it and what it must come to: to be run in many orders and changed in many
// ways.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ebbtide/plan.hpp"
#include "tests/plan/interpreter.hpp"
#include "tests/plan/random_program.hpp"

namespace ebbtide::plan_test {

struct Trial {
  Program program;
  Plan plan;
  Content content;
  Homes homes;
  Homes right;

  Trial(Program of, Plan by, std::uint64_t seed, Content held = Content::kBytes);
  // How many of the orders end with other homes than the program in order.
  int wrong_orders(const Plan& tried, int orders) const;
};

struct Tally {
  int tried = 0;
  int accepted = 0;     // by the verifier; each was right in 100 orders
  int races = 0;        // of those rejected as races, those that were run
  int races_shown = 0;  // those of them that did go wrong in one of 30 orders
  // What the verifier said of plans with one change, by the kind of change (its words before ':').
  std::map<std::string, std::map<PlanFault, int>> faults;
};

// Tries `count` random mutations of the trial's plan; every fifth is two at once. Fails the test
// for one that the verifier accepts and that ends wrong in some order.
void try_mutations(const Trial& trial, int count, Dice& dice, Tally& tally);

// How many mutations a test tries: EBBTIDE_MUTATIONS, or else this.
int mutation_count(int otherwise);

}  // namespace ebbtide::plan_test
