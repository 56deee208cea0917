#include "src/train/train.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "ebbtide/error.hpp"
#include "kernels/kernels.hpp"
#include "src/model/initialize.hpp"
#include "src/train/budgets.hpp"
#include "src/train/checkpoint.hpp"
#include "src/train/checkpoint_directory.hpp"
#include "src/train/choose_plans.hpp"
#include "src/train/misfit.hpp"
#include "src/train/model_state.hpp"
#include "src/train/planning_memory.hpp"
#include "src/train/reserve.hpp"
#include "src/train/resolve_options.hpp"
#include "src/train/train_loop.hpp"
#include "src/train/wear.hpp"
#include "src/train/weight_source.hpp"

namespace ebbtide::train {
namespace {

namespace fs = std::filesystem;

std::int64_t usable_threads(const RunShape& run) {
  return run.threads > 0 ? run.threads : kernels::usable_cpus();
}

RunModel run_model(const TrainOptions& options, std::int64_t threads) {
  RunModel run;
  run.config = load_config(options);
  run.shape = resolve_shape(run.config, options);
  const kernels::CpuKernelsOptions team{.threads = static_cast<int>(threads)};
  run.device_kernels = kernels::make_cpu_kernels(team);
  run.host_kernels = kernels::make_cpu_kernels(team);
  return run;
}

std::uint64_t drive_bytes(const std::vector<fs::path>& paths) {
  std::uint64_t bytes = 0;
  for (const fs::path& path : paths) {
    struct statvfs space {};
    if (statvfs(path.c_str(), &space) == 0) bytes += std::uint64_t{space.f_blocks} * space.f_frsize;
  }
  return bytes;
}

// A run from its engine to its last checkpoint.
class Session {
 public:
  Session(const TrainOptions& options, Sources sources, WeightSource weights, RunModel run,
          StepPlans plans, std::optional<CheckpointDirectory> checkpoints, TrainObserver& observer,
          Stop& stop)
      : options_(options),
        sources_(std::move(sources)),
        weights_(std::move(weights)),
        observer_(observer),
        stop_(stop),
        run_(std::move(run)),
        plans_(std::move(plans)),
        settings_(settings_of(options, run_, sources_.training->fingerprint())),
        engine_(reserve(options, plans_.reserved_bytes())),
        attachment_(stop, engine_),
        state_(engine_, run_.config, plans_.recipe().homes, run_.shape.dtype, *run_.host_kernels),
        checkpoints_(std::move(checkpoints)) {
    const PerTier<std::uint64_t> bytes = plans_.reserved_bytes();
    plans_.set_budgets({bytes[0], bytes[1], bytes[2]});
  }

  void run() {
    for (const std::string& warning : engine_.warnings()) observer_.warned(warning);
    TrainLoop loop({plans_, engine_, state_, *sources_.training, stop_}, options_, start());
    RunSummary summary;
    while (loop.position().step < options_.run.steps) step(loop, summary);
    if (checkpoints_ && last_saved_ != loop.position().step) save(loop);
    finish(summary);
  }

 private:
  // Sets the homes; where the run begins.
  Position start() {
    switch (weights_.kind) {
      case WeightSource::Kind::kCheckpoint: {
        const SavedState saved = read_state(weights_.directory, settings_);
        if (saved.digests.empty())
          observer_.warned(
              fmt::format("{} was saved by a version that kept no digests; damage to "
                          "its files would not be seen",
                          weights_.directory.string()));
        read_checkpoint(weights_.directory, saved.digests, state_);
        return saved.position;
      }
      case WeightSource::Kind::kModel:
        read_weights(weights_.directory, state_);
        break;
      case WeightSource::Kind::kRandom:
        set_random_weights();
        break;
    }
    return {};
  }

  void set_random_weights() {
    state_.set_weights(
        [this](const model::Parameter& parameter, std::int64_t first, std::span<float> values) {
          model::initialize(parameter, run_.config, options_.run.seed, first, values);
        });
    state_.clear_moments();
  }

  void step(TrainLoop& loop, RunSummary& summary) {
    const bool wanted = observer_.wants_record(loop.position().step + 1);
    report::StepReport report = loop.step(wanted ? &recorder_ : nullptr);
    if (options_.checksum == WeightChecksum::kXxh3) report.weights_xxh3 = state_.weights_xxh3();
    if (summary.steps++ == 0) summary.first_loss = report.loss;
    summary.last_loss = report.loss;
    step_seconds_.push_back(report.step_seconds);
    observer_.stepped(report);
    if (wanted) observer_.recorded(recorder_.record());
    warn_of_wear(report, summary.steps);
    const std::int64_t at = report.step;
    if (options_.evaluation.every > 0 && at % options_.evaluation.every == 0)
      observer_.evaluated(at,
                          loop.evaluate(*sources_.evaluation.source, sources_.evaluation.count));
    const std::int64_t every = options_.checkpoint.save_every;
    if (every > 0 && at % every == 0) save(loop);
  }

  void save(const TrainLoop& loop) {
    const std::int64_t step = loop.position().step;
    try {
      write_checkpoint(checkpoints_->begin(step), run_.config, state_, loop.position(), settings_);
      checkpoints_->commit(step);
    } catch (...) {
      checkpoints_->discard(step);  // half of one would keep a full disk full
      throw;
    }
    checkpoints_->prune(options_.checkpoint.keep);
    last_saved_ = step;
    observer_.saved(options_.checkpoint.save);
  }

  // Judged by the second step: the first one also warms everything up.
  void warn_of_wear(const report::StepReport& report, std::int64_t steps_run) {
    if (steps_run != 2) return;
    const std::optional<std::string> warning =
        wear_warning({.bytes_a_step = report.nvme_bytes_written,
                      .step_seconds = report.step_seconds,
                      .capacity_bytes = drive_bytes(options_.memory.nvme_paths),
                      .endurance_bytes = plans_.settings().hardware.nvme_endurance_bytes});
    if (warning) observer_.warned(*warning);
  }

  void finish(RunSummary& summary) {
    summary.expected_step_seconds = expected_step_seconds(plans_, options_);
    if (!step_seconds_.empty()) {
      const auto middle =
          step_seconds_.begin() + static_cast<std::ptrdiff_t>(step_seconds_.size() / 2);
      std::nth_element(step_seconds_.begin(), middle, step_seconds_.end());
      summary.median_step_seconds = *middle;
    }
    summary.planned_peak_bytes = plans_.reserved_bytes();
    summary.touched_bytes = engine_.counters().touched_bytes;
    summary.moved_bytes = engine_.counters().moved_bytes;
    summary.poisoned_bytes = engine_.counters().poisoned_bytes;
    summary.checked_bytes = engine_.counters().checked_bytes;
    summary.unchecked_bytes = engine_.counters().unchecked_bytes;
    observer_.finished(summary);
  }

  const TrainOptions& options_;
  Sources sources_;
  WeightSource weights_;
  TrainObserver& observer_;
  Stop& stop_;
  RunModel run_;
  StepPlans plans_;
  Settings settings_;
  Engine engine_;
  Stop::Attachment attachment_;
  ModelState state_;
  std::optional<CheckpointDirectory> checkpoints_;
  std::optional<std::int64_t> last_saved_;
  std::vector<double> step_seconds_;
  StepRecorder recorder_;
};

void warn_of_positions(const RunModel& run, const TrainOptions& options, TrainObserver& observer) {
  const std::int64_t most = run.config.max_positions;
  if (most == 0 || run.shape.seq_len <= most) return;
  observer.warned(
      fmt::format("--seq-len {} is past the {} positions that {} was made for "
                  "(max_position_embeddings); weights trained for those know none "
                  "beyond",
                  run.shape.seq_len, most, options.model));
}

// The same error with what would fit.
Error with_remedies(const Error& misfit, const std::vector<Remedy>& remedies) {
  std::string text = misfit.what();
  const char* joint = "; would fit:";
  for (const Remedy& remedy : remedies) {
    text += fmt::format("{} --{}-memory {}", joint, name(remedy.tier), remedy.bytes);
    joint = ", or";
  }
  return {Errc::kDoesNotFit, text};
}

StepPlans plans_that_fit(const TrainOptions& options, const RunModel& run, const Sources& sources,
                         const Budgets& budgets, const Stop& stop) {
  const HardwareModel hardware = rates_of(options);
  const std::int64_t evaluation = sources.evaluation.tokens;
  try {
    return choose_plans(run, options, evaluation, budgets, hardware,
                        [&stop](const Tried& /*tried*/) { stop.throw_if_requested(); });
  } catch (const Error& error) {
    if (error.code() != make_error_code(Errc::kDoesNotFit)) throw;
    throw with_remedies(error, remedies(run, options, evaluation, budgets, hardware));
  }
}

// Everything that can be refused before memory is reserved. Nothing after a dry run.
std::optional<StepPlans> plan_run(const TrainOptions& options, const RunModel& run,
                                  const Sources& sources, const WeightSource& weights,
                                  TrainObserver& observer, Stop& stop) {
  const MachineLimits limits = machine_limits(options.memory);
  const Budgets budgets = resolve_budgets(options.memory, limits);
  warn_of_positions(run, options, observer);
  check_planning_fits(run.config, options, sources.evaluation.tokens, limits);
  StepPlans plans = plans_that_fit(options, run, sources, budgets, stop);
  stop.throw_if_requested();
  report::MemoryBill bill = bill_of(plans, options.transfer.offload_check);
  bill.smallest_device_bytes = smallest_device_bytes(run, options, budgets);
  const RunFacts facts = facts_of(plans, options, weights, usable_threads(options.run));
  observer.prepared(facts, plans);
  observer.planned(facts, bill);
  if (options.mode == RunMode::kDryRun) return std::nullopt;
  return plans;
}

std::optional<CheckpointDirectory> open_checkpoints(const fs::path& save) {
  if (save.empty()) return std::nullopt;
  try {
    check_takes_checkpoints(save);
    CheckpointDirectory checkpoints(save);
    checkpoints.claim();
    return checkpoints;
  } catch (const Error& error) {
    if (error.code() == Errc::kBadUsage)
      throw Error(Errc::kBadUsage, fmt::format("--save {}", error.what()));
    // Before a step has run this is a setting that cannot be had.
    throw Error(Errc::kBadUsage,
                fmt::format("--save: {}; give a directory that this user may make and write",
                            error.what()));
  }
}

}  // namespace

void train(const TrainOptions& options, Sources sources, TrainObserver& observer, Stop& stop) {
  WeightSource weights = find_weights(options);
  RunModel run = run_model(options, usable_threads(options.run));
  std::optional<StepPlans> plans = plan_run(options, run, sources, weights, observer, stop);
  if (!plans) return;
  Session(options, std::move(sources), std::move(weights), std::move(run), std::move(*plans),
          open_checkpoints(options.checkpoint.save), observer, stop)
      .run();
}

void train(const TrainOptions& options, TrainObserver& observer, Stop& stop) {
  Sources sources = open_sources(options, load_config(options));
  train(options, std::move(sources), observer, stop);
}

}  // namespace ebbtide::train
