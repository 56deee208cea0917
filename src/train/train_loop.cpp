#include "src/train/train_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "ebbtide/error.hpp"
#include "src/report/exposure.hpp"

namespace ebbtide::train {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::array<Lane, 4> kTransferLanes{Lane::kD2h, Lane::kH2d, Lane::kNvmeWrite,
                                             Lane::kNvmeRead};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::int64_t targets_in(const Sequence& sequence) {
  const auto ignored =
      std::count(sequence.targets.begin(), sequence.targets.end(), kernels::kIgnoredTarget);
  return static_cast<std::int64_t>(sequence.targets.size()) - ignored;
}

void check_finite(double value, const char* what, std::int64_t step) {
  if (std::isfinite(value)) return;
  throw Error(Errc::kDiverged, fmt::format("{} of step {} is not finite ({})", what, step, value));
}

Schedule schedule_of(const TrainOptions& options) {
  const OptimizerOptions& optimizer = options.optimizer;
  return {.peak = optimizer.learning_rate,
          .minimum = optimizer.min_learning_rate.value_or(optimizer.learning_rate / 10),
          .warmup_steps = optimizer.warmup_steps,
          .total_steps = std::max<std::int64_t>(options.run.steps, 1),
          .decay = optimizer.decay};
}

}  // namespace

TrainLoop::TrainLoop(const LoopParts& parts, const TrainOptions& options, const Position& start)
    : parts_(parts), options_(options), schedule_(schedule_of(options)), position_(start) {
  check(schedule_);
}

report::StepReport TrainLoop::step(StepRecorder* recorder) {
  const Clock::time_point start = Clock::now();
  const PerLane<std::uint64_t> moved = parts_.engine.counters().moved_bytes;
  report::StepReport report;
  report.step = position_.step + 1;
  report.learning_rate = learning_rate(schedule_, report.step);
  const StepSoFar so_far{report, recorder};
  if (recorder != nullptr) recorder->begin(report.step);
  const LossSum sum = run_micro_steps(so_far);
  // Without a target there is no gradient: weights, moments and AdamW's count stay as they are.
  if (sum.targets > 0) report.grad_norm = update(sum, so_far);
  position_.step = report.step;
  report.loss = sum.mean();
  report.tokens = sum.tokens;
  report.step_seconds = seconds_since(start);
  if (recorder != nullptr) recorder->end(report.step_seconds);
  const EngineCounters& counters = parts_.engine.counters();
  report.peak_bytes = counters.touched_bytes;
  const auto moved_on = [&](Lane lane) {
    return counters.moved_bytes[index(lane)] - moved[index(lane)];
  };
  report.nvme_bytes_written = moved_on(Lane::kNvmeWrite);
  report.nvme_bytes_read = moved_on(Lane::kNvmeRead);
  report.offloaded_bytes = moved_on(Lane::kD2h);
  return report;
}

TrainLoop::LossSum TrainLoop::run_micro_steps(const StepSoFar& so_far) {
  LossSum sum;
  const std::int64_t count = options_.run.micro_steps();
  for (std::int64_t at = 0; at < count; ++at) {
    read_training_sequence(so_far.recorder);
    write_sequence(sequence_);
    const auto length = static_cast<std::int64_t>(sequence_.tokens.size());
    run(parts_.plans.micro_step(length, at, count), so_far);
    const double loss = read_double(parts_.state.homes().loss);
    check_finite(loss, "the loss", so_far.report.step);
    sum.loss += loss;
    sum.targets += targets_in(sequence_);
    sum.tokens += length;
    ++position_.sequences;
  }
  return sum;
}

double TrainLoop::update(const LossSum& sum, const StepSoFar& so_far) {
  const OptimizerOptions& optimizer = options_.optimizer;
  const double rate = so_far.report.learning_rate;
  const model::OptimizerScalars scalars{.target_count = static_cast<double>(sum.targets),
                                        .grad_clip = optimizer.grad_clip,
                                        .step = position_.updates + 1,
                                        .learning_rate = static_cast<float>(rate),
                                        .beta1 = static_cast<float>(optimizer.beta1),
                                        .beta2 = static_cast<float>(optimizer.beta2),
                                        .epsilon = static_cast<float>(optimizer.epsilon),
                                        .weight_decay = static_cast<float>(optimizer.weight_decay)};
  write_value(parts_.state.homes().scalars, scalars);
  run(parts_.plans.optimizer(), so_far);
  const double norm = read_double(parts_.state.homes().gradient_norm);
  check_finite(norm, "the gradient norm", so_far.report.step);
  ++position_.updates;
  return norm;
}

void TrainLoop::run(const PlannedProgram& planned, const StepSoFar& so_far) {
  parts_.stop.throw_if_requested();
  try {
    const Timeline& timeline = parts_.engine.run(planned.program, planned.plan);
    if (so_far.recorder != nullptr) so_far.recorder->add_run(planned, timeline);
    add_run(planned, timeline, so_far.report);
  } catch (const Error&) {
    // A cancelled run is reported with what asked for it.
    parts_.stop.throw_if_requested();
    throw;
  }
}

void TrainLoop::add_run(const PlannedProgram& planned, const Timeline& timeline,
                        report::StepReport& report) const {
  report.compute_seconds += timeline.busy_seconds(Lane::kCompute);
  for (const Lane lane : kTransferLanes) report.transfer_seconds += timeline.busy_seconds(lane);
  const LoadCount loads = timeline.loads(planned.plan);
  report.loads.all += loads.all;
  report.loads.in_time += loads.in_time;
  const PerLane<double> exposed = report::exposed_seconds(planned.program, planned.plan, timeline);
  for (std::size_t lane = 0; lane < kLaneCount; ++lane)
    report.exposed_seconds[lane] += exposed[lane];
}

// What the data has wrong is bad usage only as long as nothing has run.
void TrainLoop::read_sequence(SequenceSource& source, std::uint64_t at) {
  try {
    source.read(at, sequence_);
  } catch (const Error& error) {
    if (error.code() != make_error_code(Errc::kBadData)) throw;
    throw Error(Errc::kDataFailed, error.what());
  }
}

void TrainLoop::read_training_sequence(StepRecorder* recorder) {
  const Clock::time_point start = Clock::now();
  read_sequence(parts_.source, position_.sequences);
  if (recorder != nullptr) recorder->add_data(seconds_since(start));
}

// Homes are those of the longest sequence: what a shorter one leaves is never read, and holds no
// target all the same.
void TrainLoop::write_sequence(const Sequence& sequence) {
  const auto write_chunks = [this](const std::vector<std::uint32_t>& ids,
                                   const std::vector<Home>& homes, std::uint32_t rest) {
    std::size_t at = 0;
    for (const Home& home : homes) {
      if (at >= ids.size()) break;
      chunk_.assign(home.size_bytes / sizeof(std::uint32_t), rest);
      const std::size_t count = std::min(chunk_.size(), ids.size() - at);
      std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(at), count, chunk_.begin());
      parts_.engine.write_home(home, std::as_bytes(std::span(chunk_)));
      at += count;
    }
  };
  write_chunks(sequence.tokens, parts_.state.homes().tokens, 0);
  write_chunks(sequence.targets, parts_.state.homes().targets, kernels::kIgnoredTarget);
}

double TrainLoop::evaluate(SequenceSource& source, std::uint64_t count) {
  LossSum sum;
  report::StepReport unused;
  for (std::uint64_t at = 0; at < count; ++at) {
    read_sequence(source, at);
    write_sequence(sequence_);
    run(parts_.plans.evaluation(static_cast<std::int64_t>(sequence_.tokens.size())), {unused});
    sum.loss += read_double(parts_.state.homes().loss);
    sum.targets += targets_in(sequence_);
  }
  check_finite(sum.loss, "the evaluation loss", position_.step);
  return sum.mean();
}

double TrainLoop::read_double(const Home& home) {
  double value = 0;
  parts_.engine.read_home(home, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

template <typename T>
void TrainLoop::write_value(const Home& home, const T& value) {
  parts_.engine.write_home(home, std::as_bytes(std::span(&value, 1)));
}

}  // namespace ebbtide::train
