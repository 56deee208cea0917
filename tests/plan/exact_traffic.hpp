// The least traffic of small programs, exactly.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/plan/device_stays.hpp"

namespace ebbtide::plan_test {

// The fewest bytes that cross between device and host in a step, by the rules of device_stays.hpp,
// under a device budget. Goes through the steps with the cost of every set of values that may be
// kept and of those among them that have been stored. Nothing if the program does not fit, or if
// more than `most_sets` are open at once. Requires at most 64 values.
std::optional<std::uint64_t> exact_traffic(const Program& program, std::uint64_t device_bytes,
                                           std::size_t most_sets = 1U << 20);

}  // namespace ebbtide::plan_test
