// A bound from below on the traffic of large programs, by linear programming.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/plan/device_stays.hpp"

namespace ebbtide::plan_test {

// Whether this build has a solver of linear programs.
bool can_relax();

// No plan moves fewer bytes between device and host in a step: the least of device_stays.hpp where
// a stay may also be kept in part, and a version stored in part. Nothing if no such plan fits.
// Requires can_relax().
std::optional<double> relaxed_traffic(const DeviceStays& open, const Program& program,
                                      std::uint64_t device_bytes);

}  // namespace ebbtide::plan_test
