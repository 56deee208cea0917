// What `ebbtide train --report` gathers while a run goes on, and the page that it makes of it.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "src/cli/report_file.hpp"
#include "src/cli/train_flags.hpp"
#include "src/report/bill.hpp"
#include "src/report/page.hpp"
#include "src/report/step_record.hpp"
#include "src/report/step_report.hpp"
#include "src/train/options.hpp"
#include "src/train/run_facts.hpp"
#include "src/train/step_plans.hpp"
#include "src/train/train.hpp"

namespace ebbtide::cli {

class TrainReport {
 public:
  // Throws Error(kBadUsage) where no page can be written. `app` has been parsed.
  TrainReport(const CLI::App& app, const train::TrainOptions& options, const TrainExtras& extras);

  // Before the first step. `app`'s flags and the facts say what the settings came to.
  void planned(const train::RunFacts& facts, train::StepPlans& plans);
  void warned(const std::string& warning) { page_.remarks.push_back(warning); }
  void stepped(const report::StepReport& step) { page_.history.push_back(step); }
  // After stepped(). The page shows the step that took nearest to the median.
  void recorded(const report::StepRecord& record);
  void evaluated(std::int64_t step, double loss) { page_.evaluations.push_back({step, loss}); }
  void finished(const train::RunSummary& summary);

  // Whether the run came as far as a plan: without one a page would say nothing.
  bool has_plan() const { return page_.predicted.has_value(); }
  // What it holds beside the tiers, at most. Requires planned().
  std::uint64_t memory_bytes() const { return memory_bytes_; }
  // `ending`: why the run ended early; empty where it did not. Throws as ReportFile::write.
  void write(const std::string& ending);

 private:
  const CLI::App& app_;
  const train::TrainOptions& options_;
  const tune::SavedSettings& profile_;
  ReportFile file_;
  report::RunPage page_;
  std::uint64_t memory_bytes_ = 0;
};

}  // namespace ebbtide::cli
