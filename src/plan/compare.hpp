// Ebbtide's own bill beside those of the usual strategies, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "src/plan/plan_json.hpp"
#include "src/plan/planned_run.hpp"
#include "src/plan/strategies.hpp"
#include "src/report/bill.hpp"

namespace ebbtide::plan {

StrategyCase strategy_case(const PlannedRun& run);

// The whole model by tensor, then a table with a row a strategy; the last row is `bill`, where the
// run fits.
std::string compare_text(const PlannedRun& run, const report::MemoryBill* bill);

Json strategies_json(const PlannedRun& run);

}  // namespace ebbtide::plan
