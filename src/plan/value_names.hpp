// Names of values as a user gives them: a kind, perhaps with (layer, chunk) behind it, or a
// parameter's name in checkpoints.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/plan/planned_run.hpp"

namespace ebbtide::plan {

struct WantedValue {
  std::string kind;              // ValueKind::name
  std::vector<std::int32_t> at;  // layer, or layer and chunk; empty: all

  bool is_at(const std::array<std::int32_t, 2>& place) const;
};

// Letters' case does not matter.
bool same_name(std::string_view a, std::string_view b);

// Throws Error(kBadUsage), which lists names like it, where no program of the step has such a kind.
WantedValue wanted_value(const PlannedRun& run, const std::string& what);

// Throws Error(kBadUsage), which says what layers and chunks there are.
[[noreturn]] void refuse_place(const PlannedRun& run, const WantedValue& wanted);

}  // namespace ebbtide::plan
