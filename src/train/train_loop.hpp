// One training step after another on an engine: micro-steps, optimizer, report.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ebbtide/engine.hpp"
#include "src/report/step_report.hpp"
#include "src/train/checkpoint.hpp"
#include "src/train/model_state.hpp"
#include "src/train/options.hpp"
#include "src/train/sequence_source.hpp"
#include "src/train/step_plans.hpp"
#include "src/train/step_recorder.hpp"
#include "src/train/stop.hpp"

namespace ebbtide::train {

// What the loop works on; all outlive it.
struct LoopParts {
  StepPlans& plans;
  Engine& engine;
  ModelState& state;
  SequenceSource& source;
  const Stop& stop;
};

class TrainLoop {
 public:
  // Throws Error(kBadUsage) for a learning-rate schedule that cannot be meant.
  TrainLoop(const LoopParts& parts, const TrainOptions& options, const Position& start);

  // Blocks. Throws Error(kDiverged) when the loss or the gradient norm is not finite, kCancelled
  // when asked to stop, and what the engine throws. After a throw the weights are undefined.
  // Records the step where there is a recorder.
  report::StepReport step(StepRecorder* recorder = nullptr);
  // Mean loss over the targets of all sequences [0, count) of a source. Blocks; changes no weight.
  double evaluate(SequenceSource& source, std::uint64_t count);

  const Position& position() const { return position_; }

 private:
  // Loss sum and number of targets of some sequences.
  struct LossSum {
    double loss = 0;
    std::int64_t targets = 0;
    std::int64_t tokens = 0;

    double mean() const { return targets > 0 ? loss / static_cast<double>(targets) : 0; }
  };

  // What is known of a step while it runs.
  struct StepSoFar {
    report::StepReport& report;
    StepRecorder* recorder = nullptr;
  };

  LossSum run_micro_steps(const StepSoFar& so_far);
  // Returns the gradient norm.
  double update(const LossSum& sum, const StepSoFar& so_far);
  void run(const PlannedProgram& planned, const StepSoFar& so_far);
  void read_sequence(SequenceSource& source, std::uint64_t at);
  void read_training_sequence(StepRecorder* recorder);
  void write_sequence(const Sequence& sequence);
  void add_run(const PlannedProgram& planned, const Timeline& timeline,
               report::StepReport& report) const;
  double read_double(const Home& home);
  template <typename T>
  void write_value(const Home& home, const T& value);

  LoopParts parts_;
  const TrainOptions& options_;
  Schedule schedule_;
  Position position_;
  Sequence sequence_;
  std::vector<std::uint32_t> chunk_;
};

}  // namespace ebbtide::train
