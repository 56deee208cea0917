// How often this process has asked for memory with new, and how often it has not given it back.
#pragma once

#include <cstdint>

namespace ebbtide::test {

std::uint64_t allocation_count();
// Allocations that have not been given back.
std::int64_t live_allocation_count();

}  // namespace ebbtide::test
