// The page that `--report` writes: one HTML file that stands for itself, from data that a run or a
// plan has put together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ebbtide/hardware.hpp"
#include "src/report/bill.hpp"
#include "src/report/step_report.hpp"
#include "src/report/step_view.hpp"

namespace ebbtide::report {

// How a setting came about.
enum class SettingSource : std::uint8_t { kGiven, kProfile, kDefault, kAuto };

struct PageSetting {
  std::string name;   // "--chunk-tokens"
  std::string value;  // what it came to
  SettingSource source = SettingSource::kDefault;
};

struct Evaluation {
  std::int64_t step = 0;
  double loss = 0;
};

struct TierPeaks {
  std::uint64_t budget_bytes = 0;
  std::uint64_t planned_bytes = 0;
  std::optional<std::uint64_t> measured_bytes;  // as the engine saw it
};

// How many model flops a second are all that the devices can do.
enum class FlopsLimit : std::uint8_t { kPeak, kSustained };

struct RunPage {
  std::string version;
  std::string command;  // "ebbtide train"
  std::string title;    // "demo, sequences of 8,192 tokens, fp32"
  std::string machine;
  std::string ending;  // why there is less than was asked for; empty: there is all
  std::vector<std::string> remarks;
  std::vector<PageSetting> settings;
  HardwareModel hardware;   // what the plan counts on
  std::int64_t tokens = 0;  // of a step
  double model_flops = 0;   // of a step
  double limit_flops_per_s = 0;
  FlopsLimit limit = FlopsLimit::kSustained;
  std::int64_t ranks = 1;
  PerTier<TierPeaks> peaks{};
  std::optional<StepView> predicted;
  std::optional<StepView> measured;  // a typical step
  std::vector<StepReport> history;
  std::vector<Evaluation> evaluations;

  // The median of the steps that were run, the first, which warms up, left out where there are
  // more; nothing where none was.
  std::optional<double> measured_step_seconds() const;
};

// How well transfers hide behind compute, in one or two sentences.
std::string verdict(const RunPage& page);

// Everything that the page shows.
std::string page_json(const RunPage& page);

// The whole file.
std::string page_html(const RunPage& page);

// A JSON text as it may stand in a script element: neither "</script" nor "<!--" ends it early.
std::string in_script_element(std::string json);

}  // namespace ebbtide::report
