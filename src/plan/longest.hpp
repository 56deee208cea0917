// The longest sequence that fits, by doubling and halving. It takes for granted that what fits a
// length fits every shorter one, which a change of the automatic chunk size may break by a little.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "src/plan/planned_run.hpp"

namespace ebbtide::plan {

struct Longest {
  std::int64_t granule = 0;   // lengths that are tried are multiples of it
  std::int64_t tokens = 0;    // fits; 0: not even one granule does
  std::int64_t too_long = 0;  // does not fit; 0: longer was not tried
};

// Past this many chunks a plan takes minutes.
inline constexpr std::int64_t kMostChunks = 256;

using OnLength = std::function<void(std::int64_t tokens, bool fits)>;

// Blocks for as long as some ten plans take. Throws as plan_run.
Longest longest_sequence(const Request& request, const OnLength& on_length = {});

Request with_length(Request request, std::int64_t tokens);

std::string text(const Longest& longest);

}  // namespace ebbtide::plan
