// A planner for tests alone, as plain as can be: it decides one op after the other, evicts at
// random, and derives the waits from which tasks share bytes, comparing every pair. It gives the
// verifier plans that are right for reasons of their own, with no wait to spare.
#pragma once

#include <cstdint>
#include <optional>

#include "ebbtide/plan.hpp"

namespace ebbtide::plan_test {

struct NaiveOptions {
  std::uint64_t seed = 0;
  std::uint32_t nvme_width = 4;
  // How often a transfer joins the one before it, and how often a value is moved in the arena.
  double join_chance = 0.5;
  double move_chance = 0.1;
};

// Nothing when the random choices lead to no hole large enough.
std::optional<Plan> naive_plan(const Program& program, const Budgets& budgets,
                               const NaiveOptions& options);

}  // namespace ebbtide::plan_test
