// What a plan holds in each tier from moment to moment, found by walking the plan's tasks in the
// order in which they began, measured or simulated. Values with homes are left out.
#pragma once

#include <cstdint>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"
#include "ebbtide/timeline.hpp"
#include "ebbtide/types.hpp"

namespace ebbtide::report {

// A value's stay in a tier begins (bytes > 0) or has ended (bytes < 0).
struct HeldChange {
  double at_s = 0;
  std::int64_t bytes = 0;
  KindId kind = 0;
};

// In the order of time. At one moment the ends come first, so that a handed-over place counts once.
PerTier<std::vector<HeldChange>> held_changes(const Program& program, const Plan& plan,
                                              const Timeline& timeline);

// Bytes by KindId at the moment when their sum is largest.
using BytesByKind = std::vector<std::uint64_t>;

PerTier<BytesByKind> fullest_moment(const Program& program, const Plan& plan,
                                    const Timeline& timeline);

}  // namespace ebbtide::report
