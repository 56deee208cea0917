#include "src/tune/tune.hpp"

#include "ebbtide/error.hpp"
#include "src/model/llama.hpp"
#include "src/train/run_facts.hpp"

namespace ebbtide::tune {
namespace {

// Of the time; the rest is for runs, which alone decide.
constexpr double kPredictingShare = 0.4;

Choices choices(const TuneOptions& options) {
  const train::RunShape& run = options.start.run;
  const model::ModelConfig config = train::load_config(options.start);
  return choices_of(setting_of(options.start), options.fixed,
                    model::auto_chunk_tokens(config, run.seq_len, run.dtype), run.seq_len);
}

class Tuning {
 public:
  Tuning(const TuneOptions& options, const Parts& parts, TuneObserver& observer, Outcome& outcome)
      : options_(options), parts_(parts), observer_(observer), outcome_(outcome) {
    outcome.start.setting = setting_of(options.start);
    outcome.confirmed.start.setting = outcome.start.setting;
  }

  void predict() {
    outcome_.start = parts_.predict(outcome_.start.setting);
    if (!outcome_.start.fits()) throw Error(Errc::kDoesNotFit, outcome_.start.why_not);
    observer_.predicted(outcome_.start);
    outcome_.confirmed.start.predicted_seconds = outcome_.start.step_seconds;
    outcome_.confirmed.start.chunk_tokens = outcome_.start.chunk_tokens;
    predict_settings(
        freed(outcome_.start.setting, options_.fixed), choices(options_), parts_.predict,
        [this](const Predicted& predicted) {
          outcome_.predicted.push_back(predicted);
          observer_.predicted(predicted);
        },
        [this] { return parts_.elapsed_s() > kPredictingShare * options_.time_limit_s; });
  }

  void measure() {
    outcome_.confirmed =
        confirm(options_.start, outcome_.start,
                finalists(outcome_.predicted, outcome_.start, options_.fixed, options_.finalists),
                {.measure = parts_.measure,
                 .elapsed_s = parts_.elapsed_s,
                 .time_limit_s = options_.time_limit_s,
                 .on_run = [this](int round, const Setting& setting) {
                   observer_.running(round, setting);
                 }});
  }

 private:
  const TuneOptions& options_;
  const Parts& parts_;
  TuneObserver& observer_;
  Outcome& outcome_;
};

}  // namespace

Outcome tune(const TuneOptions& options, const Parts& parts, TuneObserver& observer) {
  if (options.fixed.size() == kTunable.size())
    throw Error(Errc::kBadUsage,
                "every flag that tuning may change is given; --free names those that may change");
  Outcome outcome;
  Tuning tuning(options, parts, observer, outcome);
  try {
    tuning.predict();
    tuning.measure();
  } catch (const Error& error) {
    if (error.code() != make_error_code(Errc::kCancelled)) throw;
    outcome.confirmed.ended = Ended::kInterrupted;
  }
  outcome.seconds = parts.elapsed_s();
  return outcome;
}

}  // namespace ebbtide::tune
