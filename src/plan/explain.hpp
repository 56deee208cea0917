// Says why values live where they do: those of a kind ("attention output"), one of them ("q (3,
// 17)": layer and chunk), or a parameter by its name ("model.norm.weight").
#pragma once

#include <string>

#include "src/plan/planned_run.hpp"

namespace ebbtide::plan {

// Several lines, for people: of each program of the step, how many values of the kind stay where,
// and why; of one value all that happens to it, by simulated time.
// Requires a run that fits. Throws Error(kBadUsage), which lists names like it, where no program
// has such a value.
std::string explain(const PlannedRun& run, const std::string& what);

}  // namespace ebbtide::plan
