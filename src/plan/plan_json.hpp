// A planned run for programs: one JSON object, whose numbers have enough digits to round-trip. What
// `--log-json` of a run says too has the same names, on top level.
#pragma once

#include <nlohmann/json.hpp>

#include "src/plan/planned_run.hpp"
#include "src/plan/prediction.hpp"
#include "src/report/bill.hpp"

namespace ebbtide::plan {

using Json = nlohmann::ordered_json;

// Settings, budgets, candidates, and why it does not fit if it does not.
Json to_json(const Request& request, const PlannedRun& run);
Json to_json(const report::MemoryBill& bill);
// Adds what is predicted to the object of the run.
void add_to(Json& object, const Prediction& prediction, const report::MemoryBill& bill);

}  // namespace ebbtide::plan
