// A few steps of a run, measured, beside what its plans predicted of them, and what would shorten
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ebbtide/hardware.hpp"
#include "src/report/exposure.hpp"
#include "src/train/train.hpp"

namespace ebbtide::profile {

// A change of flags that was planned and simulated, and found to shorten the step.
struct Advice {
  std::string flags;    // "--prefetch-distance 4"
  std::string why;      // "fetch 4 chunk-steps ahead"
  double step_s = 0;    // predicted: the measured step less what the change saves in simulation
  report::Cause cause;  // that it is meant for
};

struct Profile {
  train::RunFacts facts;
  std::int64_t steps = 0;      // measured
  std::int64_t tokens = 0;     // of a step
  report::Exposure measured;   // of the mean step
  report::Exposure predicted;  // of the same plans, simulated
  HardwareModel rates;         // that plans were timed by
  HardwareModel as_measured;   // the same, as fast as it was found to be
  std::int64_t usable_threads = 1;
  // Best first; not there where changes were not looked for, or not to the end.
  std::optional<std::vector<Advice>> advice;
};

// Sums up the steps of a run of which records are wanted: those after the first `skipped` ones.
class StepSummary final : public train::TrainObserver {
 public:
  StepSummary(std::int64_t skipped, HardwareModel rates)
      : skipped_(skipped), rates_(std::move(rates)) {}

  void planned(const train::RunFacts& facts, const report::MemoryBill& bill) override;
  void stepped(const report::StepReport& step) override { tokens_ = step.tokens; }
  bool wants_record(std::int64_t step) const override { return step > skipped_; }
  void recorded(const report::StepRecord& record) override;

  // Without advice. Requires that a step was recorded.
  Profile profile() const;

 private:
  const std::int64_t skipped_;
  const HardwareModel rates_;
  train::RunFacts facts_;
  std::int64_t tokens_ = 0;
  std::int64_t steps_ = 0;
  report::Exposure measured_;  // summed
  std::optional<report::Exposure> predicted_;
};

// The model with each lane as fast as it was: its rates and latencies by the ratio of the time that
// the same tasks took measured and simulated.
HardwareModel as_measured(const HardwareModel& rates, const report::Exposure& predicted,
                          const report::Exposure& measured);

}  // namespace ebbtide::profile
