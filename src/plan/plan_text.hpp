// A planned run for people: several lines each, which end with a newline.
#pragma once

#include <optional>
#include <string>

#include "src/plan/chunk_size.hpp"
#include "src/plan/planned_run.hpp"
#include "src/plan/prediction.hpp"

namespace ebbtide::plan {

// Whether it fits; if not why, and what would.
std::string verdict_text(const Request& request, const PlannedRun& run);
// What every "auto" came to. Requires a run that fits.
std::string settings_text(const PlannedRun& run);
// Time, lanes, links, drives.
std::string text(const Prediction& prediction, const PlannedRun& run);
// Nothing for none.
std::string text(const std::optional<OtherChunk>& other);
// What was tried, the settings that are planned marked.
std::string candidates_text(const PlannedRun& run);

}  // namespace ebbtide::plan
