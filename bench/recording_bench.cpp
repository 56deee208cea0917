// What does a recorded step cost? Limit: 1 % of the step.
//
// One run of the demo model that moves its activations over the link, of which every other step is
// recorded: summed up as `profile` does it and written to a trace. Steps are compared in pairs of
// neighbours, so that what else the machine does meets both; which of a pair comes first
// alternates. A step's seconds are those from the end of one step to the end of the next, so that
// what is done with a record between two steps counts too. Beside the ratio stands its standard
// error. Exit status 1 unless the ratio is below the limit by two of them. Let nothing else run
// meanwhile.
//
// Usage: recording_bench [pairs]
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "src/profile/profile.hpp"
#include "src/report/trace.hpp"
#include "src/train/resolve_options.hpp"
#include "src/train/train.hpp"

namespace {

using namespace ebbtide;

constexpr double kLimit = 1.01;
constexpr std::int64_t kWarmUpSteps = 4;

class Alternating final : public train::TrainObserver {
 public:
  Alternating(const HardwareModel& rates, const std::filesystem::path& trace)
      : rates_(rates), summary_(kWarmUpSteps, rates), trace_(trace, "recording_bench") {}

  void planned(const train::RunFacts& facts, const report::MemoryBill& bill) override {
    summary_.planned(facts, bill);
  }
  // Of four steps the second and the third.
  bool wants_record(std::int64_t step) const override {
    const std::int64_t place = (step - 1 - kWarmUpSteps) % 4;
    return step > kWarmUpSteps && (place == 1 || place == 2);
  }
  void stepped(const report::StepReport& step) override {
    summary_.stepped(step);
    if (!wants_record(step.step)) end_step();
  }
  void recorded(const report::StepRecord& record) override {
    summary_.recorded(record);
    trace_.add(record, rates_);
    end_step();
  }

  // Recorded over plain, a pair each.
  std::vector<double> ratios() const {
    std::vector<double> all;
    for (std::size_t first = kWarmUpSteps; first + 1 < seconds_.size(); first += 2) {
      const bool is_recorded_first = wants_record(static_cast<std::int64_t>(first) + 1);
      const double ratio = seconds_[first + 1] / seconds_[first];
      all.push_back(is_recorded_first ? 1 / ratio : ratio);
    }
    return all;
  }

 private:
  void end_step() {
    const auto now = std::chrono::steady_clock::now();
    seconds_.push_back(std::chrono::duration<double>(now - last_end_).count());
    last_end_ = now;
  }

  HardwareModel rates_;
  profile::StepSummary summary_;
  report::Trace trace_;
  std::chrono::steady_clock::time_point last_end_ = std::chrono::steady_clock::now();
  std::vector<double> seconds_;  // by step
};

train::TrainOptions options_of(std::int64_t pairs, const std::filesystem::path& folder) {
  train::TrainOptions options;
  options.run.seq_len = 4096;
  options.run.steps = kWarmUpSteps + 2 * pairs;
  options.planning.chunk_tokens = 256;
  options.planning.activations = model::ActivationMode::kOffload;
  options.memory.device_bytes = std::uint64_t{32} << 20;
  options.memory.host_bytes = std::uint64_t{1} << 30;
  options.memory.nvme_bytes = 0;
  options.memory.nvme_paths = {folder};
  return options;
}

int judge(const std::vector<double>& ratios) {
  const auto count = static_cast<double>(ratios.size());
  const double mean = std::accumulate(ratios.begin(), ratios.end(), 0.0) / count;
  double squares = 0;
  for (const double ratio : ratios) squares += (ratio - mean) * (ratio - mean);
  const double error = std::sqrt(squares / (count - 1) / count);
  const auto [least, most] = std::ranges::minmax(ratios);
  fmt::print(
      "a recorded step takes {:.4f} times a plain one (standard error {:.4f}, {} pairs, {:.3f} to "
      "{:.3f})\n",
      mean, error, ratios.size(), least, most);
  return mean + 2 * error < kLimit ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  const std::int64_t pairs = count > 1 ? std::max(2LL, std::atoll(words[1])) : 200;
  std::string folder = std::filesystem::temp_directory_path() / "recording_bench.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  int status = 1;
  try {
    const train::TrainOptions options = options_of(pairs, folder);
    Alternating observer(train::rates_of(options), std::filesystem::path(folder) / "trace.json");
    train::Stop stop;
    train::train(options, observer, stop);
    status = judge(observer.ratios());
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  std::filesystem::remove_all(folder);
  return status;
}
