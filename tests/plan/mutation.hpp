// One random change to a plan, of the kinds that a faulty planner could make.
#pragma once

#include <string>

#include "ebbtide/plan.hpp"
#include "tests/plan/random_program.hpp"

namespace ebbtide::plan_test {

// Returns what was changed, in words.
std::string mutate(const Program& program, Plan& plan, Dice& dice);

}  // namespace ebbtide::plan_test
