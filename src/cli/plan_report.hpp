// The page that `ebbtide plan --report` writes of a planned run, also of one that does not fit.
#pragma once

#include <CLI/CLI.hpp>

#include "src/plan/planned_run.hpp"
#include "src/report/page.hpp"
#include "src/report/step_record.hpp"
#include "src/tune/saved_settings.hpp"

namespace ebbtide::cli {

// `app` has been parsed, `profile` applied to it.
report::RunPage plan_page(const CLI::App& app, const plan::Request& request,
                          const plan::PlannedRun& run, const tune::SavedSettings& profile);

// The step of a page; of the run its programs are read only. Throws Error(kBadUsage) where it has
// more tasks than are put together in memory.
report::StepRecord page_record(const plan::PlannedRun& run);

}  // namespace ebbtide::cli
