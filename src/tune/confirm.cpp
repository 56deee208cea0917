#include "src/tune/confirm.hpp"

#include <algorithm>
#include <utility>

#include "ebbtide/error.hpp"
#include "src/tune/median.hpp"

namespace ebbtide::tune {
namespace {

constexpr double kWorthIt = 1.01;
constexpr int kRounds = 5;
// A candidate whose first step takes so many times the start's step is given up.
constexpr double kHopeless = 3;
// Runs that the time is shared among: the start and four candidates, then two, then pairs.
constexpr double kUsualRuns = 14;
constexpr double kMostSteps = 5;

bool is_cancelled(const Error& error) {
  return error.code() == make_error_code(Errc::kCancelled);
}

Measured unmeasured(const Predicted& predicted) {
  return {.setting = predicted.setting,
          .predicted_seconds = predicted.step_seconds,
          .chunk_tokens = predicted.chunk_tokens};
}

class Confirming {
 public:
  Confirming(const train::TrainOptions& options, const ConfirmParts& parts, Confirmation& result)
      : options_(options), parts_(parts), result_(result) {
    for (std::size_t at = 0; at < result.candidates.size(); ++at) left_.push_back(at);
  }

  void run() {
    try {
      warm_up();
      for (round_ = 1; round_ <= kRounds && !left_.empty(); ++round_) {
        if (!keep_as_many_as_there_is_time_for()) {
          result_.ended = Ended::kTimeUp;
          return;
        }
        run_round();
        keep_the_better_half();
      }
    } catch (const Error& error) {
      if (!is_cancelled(error)) throw;
      result_.ended = Ended::kInterrupted;
    }
  }

 private:
  RunFigures measure(const Setting& setting, const ShortRun& run) {
    parts_.on_run(round_, setting);
    return parts_.measure(with(options_, setting), run);
  }

  // Warms the machine up and says how long runs are.
  void warm_up() {
    Measured& start = result_.start;
    const RunFigures figures = measure(start.setting, {.steps = 1});
    start.predicted_seconds = figures.predicted_seconds;
    start.chunk_tokens = figures.chunk_tokens;
    run_s_ = figures.run_seconds;
    give_up_s_ = kHopeless * figures.step_seconds;
    const double around_s = figures.run_seconds - 2 * figures.step_seconds;
    const double share_s = left_s() / kUsualRuns;
    steps_ = static_cast<std::int64_t>(
        std::clamp((share_s - around_s) / figures.step_seconds - 1, 1.0, kMostSteps));
    run_s_ += static_cast<double>(steps_ - 1) * figures.step_seconds;
  }

  double left_s() const { return parts_.time_limit_s - parts_.elapsed_s(); }

  // Of a round's runs, one is the start's. Fewer candidates, if only so the best of them can have
  // the pairs that it takes to win. False: there is no time for a pair.
  bool keep_as_many_as_there_is_time_for() {
    const double runs = left_s() / run_s_;
    if (runs < 2) return false;
    const double later_runs = 2.0 * std::max(0, kLeastPairs - round_);
    const auto most = static_cast<std::size_t>(std::clamp(runs - later_runs - 1, 1.0, 1e6));
    if (left_.size() > most) left_.resize(most);
    return true;
  }

  // Every other round begins with the candidates. A pair counts once both of its runs are done.
  void run_round() {
    const bool start_first = round_ % 2 == 1;
    double start_s = start_first ? run_start() : 0;
    std::vector<std::pair<std::size_t, double>> alone;
    for (const std::size_t at : left_) {
      if (left_s() < run_s_) break;
      const std::optional<double> own_s = run_candidate(result_.candidates[at]);
      if (own_s && start_first) add_pair(at, start_s, *own_s);
      if (own_s && !start_first) alone.emplace_back(at, *own_s);
    }
    if (!start_first) start_s = run_start();
    for (const auto& [at, own_s] : alone) add_pair(at, start_s, own_s);
  }

  void add_pair(std::size_t at, double start_s, double own_s) {
    result_.candidates[at].seconds.push_back(own_s);
    result_.candidates[at].gains.push_back(start_s / own_s);
  }

  double run_start() {
    const RunFigures figures = measure(result_.start.setting, {.steps = steps_});
    run_s_ = std::max(run_s_, figures.run_seconds);
    result_.start.seconds.push_back(figures.step_seconds);
    return figures.step_seconds;
  }

  std::optional<double> run_candidate(Measured& candidate) {
    try {
      const RunFigures figures =
          measure(candidate.setting, {.steps = steps_, .give_up_seconds = give_up_s_});
      run_s_ = std::max(run_s_, figures.run_seconds);
      candidate.predicted_seconds = figures.predicted_seconds;
      candidate.chunk_tokens = figures.chunk_tokens;
      return figures.step_seconds;
    } catch (const Error& error) {
      if (is_cancelled(error)) throw;
      candidate.why_not = error.what();
      return std::nullopt;
    }
  }

  void keep_the_better_half() {
    const std::vector<Measured>& all = result_.candidates;
    std::erase_if(left_, [&all](std::size_t at) { return !all[at].why_not.empty(); });
    std::ranges::stable_sort(left_, std::greater(),
                             [&all](std::size_t at) { return all[at].gain(); });
    if (left_.size() > 1) left_.resize((left_.size() + 1) / 2);
  }

  const train::TrainOptions& options_;
  const ConfirmParts& parts_;
  Confirmation& result_;
  std::vector<std::size_t> left_;  // candidates, the most promising first
  int round_ = 0;
  std::int64_t steps_ = 1;
  double run_s_ = 0;  // of a run, about
  double give_up_s_ = 0;
};

}  // namespace

double Measured::gain() const {
  return gains.empty() ? 0 : median(gains);
}

bool Measured::is_faster() const {
  if (!why_not.empty() || std::ssize(gains) < kLeastPairs) return false;
  const auto faster = std::ranges::count_if(gains, [](double gain) { return gain > 1; });
  return 4 * faster >= 3 * std::ssize(gains) && gain() >= kWorthIt;
}

Confirmation confirm(const train::TrainOptions& options, const Predicted& start,
                     const std::vector<Predicted>& candidates, const ConfirmParts& parts) {
  Confirmation result{.start = unmeasured(start), .candidates = {}, .best = {}};
  for (const Predicted& candidate : candidates) result.candidates.push_back(unmeasured(candidate));
  Confirming(options, parts, result).run();
  // Who has most pairs came furthest; a lucky first round wins nothing.
  const auto rank = [](const Measured& each) { return std::pair(each.gains.size(), each.gain()); };
  for (std::size_t at = 0; at < result.candidates.size(); ++at) {
    if (!result.candidates[at].is_faster()) continue;
    if (!result.best || rank(result.candidates[at]) > rank(result.candidates[*result.best]))
      result.best = at;
  }
  return result;
}

}  // namespace ebbtide::tune
