// Sets candidates against the start by short runs, in interleaved pairs: what is compared is always
// a candidate's run with the start's run of the same round, so that a machine that drifts favours
// neither. Rounds go on with the better half until one is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/tune/candidates.hpp"
#include "src/tune/short_run.hpp"

namespace ebbtide::tune {

// Fewer prove nothing on a machine whose speed varies.
inline constexpr int kLeastPairs = 3;

struct Measured {
  Setting setting;
  double predicted_seconds = 0;  // by the run that was measured; before it, by the search
  std::int64_t chunk_tokens = 0;
  std::vector<double> seconds{};  // of a step, one a run
  std::vector<double> gains{};    // of each pair, the start's seconds over its own
  std::string why_not{};          // a run of it failed so

  double gain() const;  // median of its pairs; 0 without one
  // Whether its pairs say that it is faster than the start, and not by chance: kLeastPairs of them
  // or more, in most of which it is, by a hundredth at least.
  bool is_faster() const;
};

enum class Ended : std::uint8_t { kDone, kTimeUp, kInterrupted };

struct Confirmation {
  Measured start;
  std::vector<Measured> candidates;  // as given
  std::optional<std::size_t> best;   // nothing: the start
  Ended ended = Ended::kDone;
};

struct ConfirmParts {
  Measure measure;                    // throws Error(kCancelled) at a stop
  std::function<double()> elapsed_s;  // since tuning began
  double time_limit_s = 0;
  // What is run now; round 0 is the start's first run, which counts for no pair.
  std::function<void(int round, const Setting& setting)> on_run;
};

// Blocks. A candidate whose run fails is left out; throws where the start's does.
Confirmation confirm(const train::TrainOptions& options, const Predicted& start,
                     const std::vector<Predicted>& candidates, const ConfirmParts& parts);

}  // namespace ebbtide::tune
