// What a plan holds in each tier at its fullest moment, by category, found by walking the plan's
// tasks in the order of their simulated start. Values with homes are left out.
#pragma once

#include <cstdint>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"
#include "ebbtide/timeline.hpp"
#include "ebbtide/types.hpp"

namespace ebbtide::report {

// Bytes by KindId at the moment when their sum is largest.
using BytesByKind = std::vector<std::uint64_t>;

PerTier<BytesByKind> fullest_moment(const Program& program, const Plan& plan,
                                    const Timeline& timeline);

}  // namespace ebbtide::report
