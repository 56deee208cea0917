// Turns what a run is asked to do, and the budgets, into plans: those of the setting whose step is
// fastest by simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ebbtide/plan.hpp"
#include "src/train/options.hpp"
#include "src/train/step_plans.hpp"

namespace ebbtide::train {

// The model's part of a recipe; shared by all candidates.
struct RunModel {
  model::ModelConfig config;
  model::StepShape shape;
  model::SharedKernels device_kernels;
  model::SharedKernels host_kernels;
};

// What "auto" may come to.
struct Candidate {
  model::StatePlacement placement;
  model::ActivationPolicy activations;
  std::int64_t attention_group = 1;

  bool operator==(const Candidate&) const = default;
};

// A candidate whose plans were made.
struct Tried {
  Candidate candidate;
  bool fits = false;
  double step_seconds = 0;               // simulated
  double op_seconds = 0;                 // the same if nothing were waited for
  std::uint64_t nvme_bytes_written = 0;  // a step
  std::uint64_t host_bytes = 0;          // that the plans span
};

struct ChosenPlans {
  StepPlans plans;
  std::vector<Tried> tried;  // in order; the plans are those of best_of()
};

// Called after each candidate, of which the last one is new.
using SearchProgress = std::function<void(const std::vector<Tried>&)>;

// The plans of a whole step, and of evaluation where it has tokens, of the best candidate that the
// search finds. Blocks for seconds on large programs. Throws Error(kDoesNotFit) that says what the
// most frugal candidate lacks, and what `progress` throws.
ChosenPlans choose_plans(const RunModel& run, const TrainOptions& options,
                         std::int64_t evaluation_tokens, const Budgets& budgets,
                         const HardwareModel& hardware, const SearchProgress& progress = {});

// The smallest device budget under which some placement and policy fit, as far as the device alone
// decides it.
std::uint64_t smallest_device_bytes(const RunModel& run, const TrainOptions& options,
                                    const Budgets& budgets);

}  // namespace ebbtide::train
