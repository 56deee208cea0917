// What lives across steps takes of each tier, whatever a step does.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "ebbtide/program.hpp"
#include "ebbtide/types.hpp"

namespace ebbtide::report {

// By category, then kind.
using BytesByName = std::map<std::string, std::map<std::string, std::uint64_t>>;

// Homes of all programs, each counted once. Requires programs that share their homes.
PerTier<BytesByName> homes_by_name(std::span<const Program* const> programs);

}  // namespace ebbtide::report
