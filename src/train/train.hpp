// `ebbtide train` as a function: plans, reserves, trains, saves; tells an observer how it goes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "src/report/bill.hpp"
#include "src/report/step_record.hpp"
#include "src/report/step_report.hpp"
#include "src/train/options.hpp"
#include "src/train/run_facts.hpp"
#include "src/train/sources.hpp"
#include "src/train/stop.hpp"

namespace ebbtide::train {

struct RunSummary {
  std::int64_t steps = 0;  // run now, resumed ones not counted
  double first_loss = 0;
  double last_loss = 0;
  double expected_step_seconds = 0;
  double median_step_seconds = 0;
  PerTier<std::uint64_t> planned_peak_bytes{};
  PerTier<std::uint64_t> touched_bytes{};
  PerLane<std::uint64_t> moved_bytes{};
  std::uint64_t poisoned_bytes = 0;  // under FreedBlocks::kPoison
  // Under OffloadCheck::kChecksum: compared, and with nothing known to compare it with.
  std::uint64_t checked_bytes = 0;
  std::uint64_t unchecked_bytes = 0;
};

// Called on the thread that trains.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  // Before planned(). The plans are those of the run; programs and plans are good until it ends.
  virtual void prepared(const RunFacts& /*facts*/, StepPlans& /*plans*/) {}
  virtual void planned(const RunFacts& /*facts*/, const report::MemoryBill& /*bill*/) {}
  virtual void warned(const std::string& /*warning*/) {}
  virtual void stepped(const report::StepReport& /*report*/) {}
  // Asked before each step whether it is to be recorded.
  virtual bool wants_record(std::int64_t /*step*/) const { return false; }
  // After stepped() of a step that was wanted. The record is good until this returns, its programs
  // and plans until the run ends.
  virtual void recorded(const report::StepRecord& /*record*/) {}
  virtual void evaluated(std::int64_t /*step*/, double /*loss*/) {}
  virtual void saved(const std::filesystem::path& /*checkpoint*/) {}
  virtual void finished(const RunSummary& /*summary*/) {}
};

// Blocks until done. Throws Error; whatever was thrown, no swap file is left and every checkpoint
// is whole. With RunMode::kDryRun it ends once the observer has the bill.
void train(const TrainOptions& options, TrainObserver& observer, Stop& stop);
// The same with other sequences than the options name.
void train(const TrainOptions& options, Sources sources, TrainObserver& observer, Stop& stop);

}  // namespace ebbtide::train
