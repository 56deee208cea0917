#include "src/tune/short_run.hpp"

#include <chrono>
#include <vector>

#include "src/train/train.hpp"
#include "src/tune/median.hpp"

namespace ebbtide::tune {
namespace {

using Clock = std::chrono::steady_clock;

struct GivenUp {};

class Stopwatch final : public train::TrainObserver {
 public:
  explicit Stopwatch(double give_up_seconds) : give_up_seconds_(give_up_seconds) {}

  void planned(const train::RunFacts& facts, const report::MemoryBill& /*bill*/) override {
    figures_.predicted_seconds = facts.expected_step_seconds;
    figures_.chunk_tokens = facts.shape.chunk_tokens;
  }
  void stepped(const report::StepReport& step) override {
    if (seconds_.empty() && step.step == 1) {
      if (step.step_seconds <= give_up_seconds_) return;
      seconds_.push_back(step.step_seconds);
      throw GivenUp{};
    }
    seconds_.push_back(step.step_seconds);
  }

  RunFigures figures() const {
    RunFigures figures = figures_;
    figures.step_seconds = median(seconds_);
    return figures;
  }

 private:
  double give_up_seconds_;
  RunFigures figures_;
  std::vector<double> seconds_;
};

train::TrainOptions stripped(train::TrainOptions options, std::int64_t steps) {
  options.run.steps = steps;
  options.checkpoint = {};
  options.evaluation = {};
  options.checksum = train::WeightChecksum::kNone;
  options.mode = train::RunMode::kTrain;
  return options;
}

}  // namespace

RunFigures measure_run(const train::TrainOptions& options, const ShortRun& run, train::Stop& stop) {
  const Clock::time_point start = Clock::now();
  Stopwatch watch(run.give_up_seconds);
  try {
    train::train(stripped(options, 1 + run.steps), watch, stop);
  } catch (const GivenUp&) {
    stop.throw_if_requested();
  }
  RunFigures figures = watch.figures();
  figures.run_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return figures;
}

}  // namespace ebbtide::tune
