// Ebbtide's own bill beside those of the usual strategies, for people and for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/plan/plan_json.hpp"
#include "src/plan/planned_run.hpp"
#include "src/plan/strategies.hpp"
#include "src/report/bill.hpp"

namespace ebbtide::plan {

StrategyCase strategy_case(const PlannedRun& run);

// What Ebbtide's own row says.
struct OwnRow {
  const report::MemoryBill& bill;
  double sequence_seconds = 0;  // of the step, waiting and all, for each of its sequences
};

// The whole model by tensor, then a table with a row a strategy; the last row is `own`, which there
// is where the run fits.
std::string compare_text(const PlannedRun& run, const std::optional<OwnRow>& own);

Json strategies_json(const PlannedRun& run);

}  // namespace ebbtide::plan
