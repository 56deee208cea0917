// What a run comes to before it trains: the model's shape, the settings that a resumed run must
// share, expectations, the bill.
#pragma once

#include <cstdint>
#include <string>

#include "src/report/bill.hpp"
#include "src/train/checkpoint.hpp"
#include "src/train/choose_plans.hpp"
#include "src/train/options.hpp"
#include "src/train/step_plans.hpp"
#include "src/train/weight_source.hpp"

namespace ebbtide::train {

// What every "auto" came to.
struct RunFacts {
  std::string model;
  std::int64_t parameters = 0;
  std::string weights;  // where they come from
  model::StepShape shape;
  model::StatePlacement placement;
  model::ActivationPolicy activations;
  Budgets budgets;
  HardwareModel hardware;  // what plans are timed by
  std::int64_t threads = 0;
  double expected_step_seconds = 0;
  std::uint64_t plan_fingerprint = 0;  // of the first micro-step's plan
};

// Reads the model's shape, of one that is for planning only too. Throws Error(kBadUsage or
// kBadFile).
model::ModelConfig load_any_config(const TrainOptions& options);
// The same of one that can be trained; throws Error(kNotBuilt) for others.
model::ModelConfig load_config(const TrainOptions& options);

// What a resumed run must have in common with the saved one.
Settings settings_of(const TrainOptions& options, const RunModel& run,
                     const std::string& data_fingerprint);

// Seconds that the plans of a whole step expect to take.
double expected_step_seconds(StepPlans& plans, const TrainOptions& options);

RunFacts facts_of(StepPlans& plans, const TrainOptions& options, const WeightSource& weights,
                  std::int64_t threads);

// Of all plans made so far, with what the process holds beside them.
report::MemoryBill bill_of(const StepPlans& plans, OffloadCheck check);

}  // namespace ebbtide::train
