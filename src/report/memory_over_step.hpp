// What fills each tier over a step, by category: for charts of memory beside its budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ebbtide/types.hpp"
#include "src/report/step_record.hpp"

namespace ebbtide::report {

struct CategoryBytes {
  std::string category;
  std::vector<std::uint64_t> bytes;  // by stretch of the step
};

// The step is cut into stretches of one length; each shows what was held at its fullest moment, so
// that the highest of them is the step's peak. Categories with most bytes at that peak come first.
struct TierMemory {
  std::vector<CategoryBytes> categories;

  std::uint64_t peak_bytes() const;
};

// Homes included. Requires at least one stretch. Room that a plan holds for transfers to come is in
// none of the categories.
PerTier<TierMemory> memory_over_step(const StepRecord& record, std::size_t stretches);

}  // namespace ebbtide::report
