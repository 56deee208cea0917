// The programs of a run and their plans, made when first asked for and kept by shape: micro-steps,
// the optimizer, evaluation. All share one layout of homes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "ebbtide/timeline.hpp"
#include "src/model/llama.hpp"
#include "src/report/bill.hpp"
#include "src/train/planned_program.hpp"

namespace ebbtide::train {

// What all programs of a run have in common.
struct ProgramRecipe {
  model::ModelConfig config;
  model::StepShape shape;  // of the longest sequence
  model::StatePlacement placement;
  model::ActivationPolicy activations;
  model::ModelHomes homes;
  model::SharedKernels device_kernels;  // null: programs only to plan
  model::SharedKernels host_kernels;
};

// Of a whole step: micro-steps and optimizer.
struct StepTotals {
  double seconds = 0;     // simulated
  double op_seconds = 0;  // of the ops one after the other
  PerLane<std::uint64_t> moved_bytes{};
};

class StepPlans {
 public:
  StepPlans(ProgramRecipe recipe, PlanSettings settings)
      : recipe_(std::move(recipe)), settings_(std::move(settings)) {}

  // Micro-step `at` (from 0) of `count` in a step, of `seq_len` tokens.
  const PlannedProgram& micro_step(std::int64_t seq_len, std::int64_t at, std::int64_t count);
  const PlannedProgram& evaluation(std::int64_t seq_len);
  const PlannedProgram& optimizer();

  // Everything that a step of `count` micro-steps, and evaluation where it has tokens, needs, so
  // that what does not fit is found before it starts.
  void plan_all(std::int64_t seq_len, std::int64_t count, std::int64_t evaluation_tokens);

  // Calls use(program, times) for each program of a step, in the order in which they run;
  // micro-steps between the first and the last are alike. Makes the plans that are missing.
  template <typename Function>
  void for_each_of_step(std::int64_t seq_len, std::int64_t count, const Function& use) {
    use(micro_step(seq_len, 0, count), std::int64_t{1});
    if (count > 2) use(micro_step(seq_len, 1, count), count - 2);
    if (count > 1) use(micro_step(seq_len, count - 1, count), std::int64_t{1});
    use(optimizer(), std::int64_t{1});
  }

  // Of a step of `count` micro-steps of `seq_len` tokens; makes the plans that are missing.
  StepTotals totals(std::int64_t seq_len, std::int64_t count);
  // The step's seconds on a machine that strays from its model.
  double jittered_seconds(std::int64_t seq_len, std::int64_t count, const Jitter& jitter);

  // Later plans must fit what is reserved.
  void set_budgets(const Budgets& budgets) { settings_.budgets = budgets; }
  const ProgramRecipe& recipe() const { return recipe_; }
  const PlanSettings& settings() const { return settings_; }
  // All made so far; good until the next one is made.
  std::vector<report::Planned> planned() const;
  // Bytes of each tier that the plans made so far touch, homes included.
  PerTier<std::uint64_t> reserved_bytes() const;

 private:
  enum class Kind : std::uint8_t { kMicroStep, kEvaluation, kOptimizer };
  using Key = std::tuple<Kind, std::int64_t, model::GradientStart, model::NormPartials>;

  const PlannedProgram& keep(const Key& key, std::string name, Program program);
  const PlannedProgram* find(const Key& key) const;
  model::StepShape shape(std::int64_t seq_len) const;

  ProgramRecipe recipe_;
  PlanSettings settings_;
  std::map<Key, std::unique_ptr<PlannedProgram>> plans_;
};

}  // namespace ebbtide::train
