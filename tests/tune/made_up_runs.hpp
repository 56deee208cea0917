// Settings whose seconds are known: what is predicted and measured is computed, and a clock that
// goes on by what runs take.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ebbtide/error.hpp"
#include "src/tune/tune.hpp"

namespace ebbtide::tune {

inline Setting with_chunk(std::int64_t tokens) {
  Setting setting;
  setting.planning.chunk_tokens = tokens;
  return setting;
}

inline Predicted predicted(const Setting& setting, double seconds) {
  return {.setting = setting,
          .step_seconds = seconds,
          .chunk_tokens = setting.planning.chunk_tokens.value_or(512)};
}

// A run of n steps takes n times `seconds(setting, nth run of all)`, and a tenth more.
class MadeUpRuns {
 public:
  using Seconds = std::function<double(const Setting& setting, std::size_t run)>;
  explicit MadeUpRuns(Seconds seconds) : seconds_(std::move(seconds)) {}

  Measure measure() {
    return [this](const train::TrainOptions& options, const ShortRun& run) {
      const double step_s = seconds_(setting_of(options), runs.size());
      runs.push_back(setting_of(options));
      clock_s += 1.1 * static_cast<double>(1 + run.steps) * step_s;
      return RunFigures{.step_seconds = step_s,
                        .predicted_seconds = step_s,
                        .run_seconds = 1.1 * static_cast<double>(1 + run.steps) * step_s,
                        .chunk_tokens = setting_of(options).planning.chunk_tokens.value_or(512)};
    };
  }
  ConfirmParts parts(double time_limit_s = 1e6) {
    return {.measure = measure(),
            .elapsed_s = [this] { return clock_s; },
            .time_limit_s = time_limit_s,
            .on_run = [](int, const Setting&) {}};
  }

  std::vector<Setting> runs;
  double clock_s = 0;

 private:
  Seconds seconds_;
};

[[noreturn]] inline void cancel() {
  throw Error(Errc::kCancelled, "cancelled by SIGINT");
}

}  // namespace ebbtide::tune
