// The alignment that O_DIRECT needs on one file.
#pragma once

#include <cstdint>

namespace ebbtide::tiers {

// What addresses, offsets and lengths must be multiples of, as the file reports it
// (STATX_DIOALIGN, Linux 6.1). 0: the file reports that it has no O_DIRECT. kPageAlignment where
// the kernel or the file system reports nothing.
std::uint32_t direct_alignment(int descriptor);

}  // namespace ebbtide::tiers
