// How often this process has asked for memory.
#pragma once

#include <cstdint>

namespace ebbtide::test {

std::uint64_t allocation_count();

}  // namespace ebbtide::test
