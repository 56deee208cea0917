// `ebbtide tune` as a function: predicts settings, measures the best few against the start, and
// never ends with something that was not measured to be faster.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "src/tune/candidates.hpp"
#include "src/tune/confirm.hpp"
#include "src/tune/setting.hpp"

namespace ebbtide::tune {

struct TuneOptions {
  train::TrainOptions start;  // what it is compared with, as train would take it
  Fixed fixed;                // flags that keep their values
  double time_limit_s = 300;
  std::size_t finalists = 4;
};

// Called on the thread that tunes.
class TuneObserver {
 public:
  virtual ~TuneObserver() = default;
  virtual void predicted(const Predicted& /*setting*/) {}
  virtual void running(int /*round*/, const Setting& /*setting*/) {}
};

// What tuning asks of the world, so that a test can answer.
struct Parts {
  Predict predict;
  Measure measure;
  std::function<double()> elapsed_s;  // since tuning began
};

struct Outcome {
  Predicted start;
  std::vector<Predicted> predicted;  // beside the start
  Confirmation confirmed;
  double seconds = 0;  // that it took

  bool keeps_start() const { return !confirmed.best; }
  bool was_interrupted() const { return confirmed.ended == Ended::kInterrupted; }
  const Measured& best() const {
    return confirmed.best ? confirmed.candidates[*confirmed.best] : confirmed.start;
  }
};

// Blocks for about the time limit. Throws Error(kBadUsage) where every flag is fixed, and what the
// start's plan or run throws. Stopped, which shows as Error(kCancelled) of a part, it ends with the
// best that was measured by then.
Outcome tune(const TuneOptions& options, const Parts& parts, TuneObserver& observer);

}  // namespace ebbtide::tune
