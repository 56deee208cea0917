#include "src/report/exposure.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "src/report/arrivals.hpp"
#include "src/report/free_room.hpp"
#include "src/report/lane_runs.hpp"
#include "src/report/task_places.hpp"

namespace ebbtide::report {
namespace {

constexpr std::int32_t kNoLayer = -1;

Cause room_of(Tier tier) {
  switch (tier) {
    case Tier::kHost:
      return Cause::kHostRoom;
    case Tier::kNvme:
      return Cause::kNvmeRoom;
    case Tier::kDevice:
      break;
  }
  return Cause::kDeviceRoom;
}

Cause rate_of(Lane lane) {
  return lane == Lane::kD2h || lane == Lane::kH2d ? Cause::kLinkRate : Cause::kDiskRate;
}

// Part of a run's time that is latency which its lane's width does not hide. What takes longer than
// bytes and latency of the model is the lane's rate.
double latency_share(const LaneRun& run, const Rate& rate, std::uint32_t width) {
  const double span_s = run.end_s - run.start_s;
  if (span_s <= 0 || rate.bytes_per_s <= 0) return 0;
  const double rounds = std::max(1.0, static_cast<double>(run.tasks) / std::max(width, 1U));
  const double beside_bytes_s = std::max(0.0, span_s - run.bytes / rate.bytes_per_s);
  return std::min(rounds * rate.latency_s, beside_bytes_s) / span_s;
}

// Charges the time in which compute stood still: from the end of a stretch backwards, to the task
// last waited for while it ran, then to what that task had waited for itself, and so on to the
// start of the stretch.
class Walk {
 public:
  // Without a hardware model lanes are charged and no causes.
  Walk(const Program& program, const Plan& plan, const Timeline& timeline,
       const HardwareModel* hardware)
      : program_(program),
        plan_(plan),
        timeline_(timeline),
        hardware_(hardware),
        places_(program, plan),
        room_(program, plan, timeline),
        arrivals_(program, plan, timeline),
        holds_(plan, timeline) {
    if (hardware_ != nullptr) runs_.emplace(program, plan, timeline, holds_);
  }

  // Tells of the stretches too, the last ones of a wait first.
  Exposure run(std::vector<StillStretch>* stretches = nullptr) {
    stretches_ = stretches;
    exposure_.step_s = timeline_.step_seconds;
    for (std::size_t i = 0; i < kLaneCount; ++i) {
      LaneTime& lane = exposure_.lanes[i];
      lane.busy_s = timeline_.busy_seconds(static_cast<Lane>(i));
      lane.bytes = plan_.moved_bytes[i];
      lane.tasks = plan_.tasks[i].size();
    }
    walk_compute();
    return std::move(exposure_);
  }

 private:
  const Interval& ran(TaskAt at) const {
    return timeline_.tasks[ebbtide::index(at.lane)][at.index];
  }

  void walk_compute() {
    const std::vector<Task>& tasks = plan_.tasks[ebbtide::index(Lane::kCompute)];
    double still_since_s = 0;
    for (std::uint32_t i = 0; i < tasks.size(); ++i) {
      const TaskAt at{Lane::kCompute, i};
      LayerTime& time = exposure_.layers[layer_from(tasks, i)];
      time.still_s += charge_stretch(still_since_s, ran(at).start_s, at);
      time.compute_s += ran(at).end_s - ran(at).start_s;
      still_since_s = std::max(still_since_s, ran(at).end_s);
    }
    exposure_.layers[kNoLayer].still_s +=
        charge_stretch(still_since_s, timeline_.step_seconds, std::nullopt);
  }

  // A move makes room for the op after it.
  std::int32_t layer_from(const std::vector<Task>& tasks, std::uint32_t at) const {
    const auto op = std::find_if(tasks.begin() + at, tasks.end(),
                                 [](const Task& task) { return task.kind() == TaskKind::kOp; });
    return op == tasks.end() ? kNoLayer : layer_of(op->first);
  }

  // Of what the op writes, or else reads.
  std::int32_t layer_of(OpId op) const {
    std::int32_t layer = kNoLayer;
    for (const Use& use : program_.uses(op)) {
      const std::int32_t of_value = program_.value(use.value).at[0];
      if (of_value >= 0 && use.writes()) return of_value;
      if (layer == kNoLayer) layer = of_value;
    }
    return layer;
  }

  // `waiter`: nothing at the end of the step. Returns the seconds of the stretch.
  double charge_stretch(double begin_s, double end_s, std::optional<TaskAt> waiter) {
    const double still_s = std::max(0.0, end_s - begin_s);
    double charged_s = 0;
    std::optional<Hold> hold = waiter ? holds_.of(*waiter) : holds_.of_end();
    while (begin_s < end_s && hold) {
      const TaskAt task = hold->last;
      const Interval& held = ran(task);
      if (held.end_s <= begin_s || task.lane == Lane::kCompute) break;
      const double from_s = std::max(begin_s, std::min(held.start_s, end_s));
      const double to_s = std::min(end_s, held.end_s);
      const double piece_s = to_s - from_s;
      tell_dispatch(to_s, end_s);
      if (stretches_ != nullptr)
        stretches_->push_back({.start_s = from_s, .end_s = to_s, .waited_for = task});
      piece_ = task;
      exposure_.lanes[ebbtide::index(task.lane)].exposed_s += piece_s;
      if (hardware_ != nullptr) charge_piece(piece_s, *hold);
      charged_s += piece_s;
      end_s = from_s;
      hold = holds_.of(task);
    }
    tell_dispatch(begin_s, end_s);
    exposure_.causes[index(Cause::kDispatch)] += still_s - charged_s;
    return still_s;
  }

  void tell_dispatch(double begin_s, double end_s) {
    if (stretches_ == nullptr || begin_s >= end_s) return;
    StillStretch& stretch =
        stretches_->emplace_back(StillStretch{.start_s = begin_s, .end_s = end_s});
    stretch.causes[index(Cause::kDispatch)] = end_s - begin_s;
  }

  void charge_piece(double seconds, const Hold& hold) {
    const Lane lane = hold.last.lane;
    if (lane == Lane::kHostCompute) return charge(Cause::kHostOptimizer, seconds);
    if (lane == Lane::kComm) return charge(Cause::kCollective, seconds);
    const std::optional<TaskAt>& held = hold.held;
    if (held && held->lane != lane && places_.waited_for_room(*held, hold.named))
      return charge_room(seconds, hold.last, route(lane).from);
    charge_transfer(seconds, hold.last);
  }

  // Seconds that a transfer was waited for: as far as its lane had rested before, they are due to
  // what held it then, or to what brought its data too late for that.
  void charge_transfer(double seconds, TaskAt transfer) {
    LaneRun& own = runs_->of(transfer);
    const TaskAt first{transfer.lane, own.first};
    double left_s = seconds;
    std::optional<TaskAt> bringer;
    double there_s = 0;
    for (LaneRun* run = &own; run != nullptr && left_s > 0;
         run = runs_->rested_before(transfer.lane, *run)) {
      const double until_s = run->rest_until_s();
      if (run == &own) {
        if (run->idle_s > 0) bringer = arrivals_.of(first);
        there_s = bringer ? ran(*bringer).end_s : 0;
      }
      if (run != &own && until_s <= there_s) break;
      const double most_s = run == &own ? left_s : std::min(left_s, until_s - there_s);
      const double rested_s = run->take(most_s);
      const double held_s = std::clamp(until_s - there_s, 0.0, rested_s);
      left_s -= rested_s;
      if (held_s > 0) charge_hold(held_s, until_s, first);
      if (held_s < rested_s) charge_bringer(rested_s - held_s, *bringer);
    }
    charge_rate(left_s, transfer);
  }

  // What held a transfer whose data was there, up to `until_s`. A plan that issues late takes
  // whatever place is free then: what counts is whether there was room before.
  void charge_hold(double seconds, double until_s, TaskAt transfer) {
    const double late_s = until_s - room_.since_s(transfer, until_s, until_s - seconds);
    charge(Cause::kLateIssue, late_s);
    const Tier tier = route(transfer.lane).to;
    const std::optional<Hold> hold = holds_.of(transfer);
    if (hold && is_transfer(hold->last.lane) && hold->last.lane != transfer.lane)
      charge_room(seconds - late_s, hold->last, tier);
    else
      charge(room_of(tier), seconds - late_s);
  }

  // Nothing could start before an op had made its data: what was waited for took its time.
  void charge_bringer(double seconds, TaskAt bringer) {
    if (is_transfer(bringer.lane)) return charge_transfer(seconds, bringer);
    if (bringer.lane == Lane::kHostCompute) return charge(Cause::kHostOptimizer, seconds);
    if (bringer.lane == Lane::kComm) return charge(Cause::kCollective, seconds);
    charge_rate(seconds, piece_);
  }

  // Seconds that a transfer was waited for because of the room that it leaves.
  void charge_room(double seconds, TaskAt transfer, Tier tier) {
    const double rested_s = runs_->of(transfer).take(seconds);
    charge(room_of(tier), rested_s);
    charge_rate(seconds - rested_s, transfer);
  }

  void charge_rate(double seconds, TaskAt transfer) {
    if (seconds <= 0) return;
    const Lane lane = transfer.lane;
    const double latency_s =
        seconds * latency_share(runs_->of(transfer), hardware_->rate_alone(lane),
                                plan_.width[ebbtide::index(lane)]);
    charge(Cause::kSmallTransfers, latency_s);
    charge(rate_of(lane), seconds - latency_s);
  }

  void charge(Cause cause, double seconds) {
    exposure_.lanes[ebbtide::index(piece_.lane)].causes[index(cause)] += seconds;
    exposure_.causes[index(cause)] += seconds;
    if (stretches_ != nullptr) stretches_->back().causes[index(cause)] += seconds;
  }

  const Program& program_;
  const Plan& plan_;
  const Timeline& timeline_;
  const HardwareModel* hardware_;
  TaskPlaces places_;
  FreeRoom room_;
  Arrivals arrivals_;
  Holds holds_;
  std::optional<LaneRuns> runs_;
  std::vector<StillStretch>* stretches_ = nullptr;
  Exposure exposure_;
  TaskAt piece_;  // the task that the seconds in hand were waited for
};

}  // namespace

std::string_view name(Cause cause) {
  constexpr std::array<std::string_view, kCauseCount> kNames{
      "late_issue",      "device_room",    "host_room",  "nvme_room", "link_rate", "disk_rate",
      "small_transfers", "host_optimizer", "collective", "data",      "dispatch"};
  return kNames[index(cause)];
}

double Exposure::still_s() const {
  return std::accumulate(causes.begin(), causes.end(), 0.0);
}

double Exposure::exposed_s() const {
  return std::accumulate(lanes.begin(), lanes.end(), 0.0,
                         [](double sum, const LaneTime& lane) { return sum + lane.exposed_s; });
}

Cause Exposure::main_cause() const {
  return static_cast<Cause>(std::ranges::max_element(causes) - causes.begin());
}

Cause StillStretch::main_cause() const {
  return static_cast<Cause>(std::ranges::max_element(causes) - causes.begin());
}

void Exposure::add(const Exposure& other, double times) {
  step_s += times * other.step_s;
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    const LaneTime& from = other.lanes[i];
    LaneTime& to = lanes[i];
    to.busy_s += times * from.busy_s;
    to.exposed_s += times * from.exposed_s;
    to.bytes += static_cast<std::uint64_t>(times * static_cast<double>(from.bytes));
    to.tasks += static_cast<std::uint64_t>(times * static_cast<double>(from.tasks));
    for (std::size_t cause = 0; cause < kCauseCount; ++cause)
      to.causes[cause] += times * from.causes[cause];
  }
  for (std::size_t cause = 0; cause < kCauseCount; ++cause)
    causes[cause] += times * other.causes[cause];
  for (const auto& [layer, time] : other.layers) {
    layers[layer].compute_s += times * time.compute_s;
    layers[layer].still_s += times * time.still_s;
  }
}

Exposure exposure_of(const Program& program, const Plan& plan, const Timeline& timeline,
                     const HardwareModel& hardware) {
  return Walk(program, plan, timeline, &hardware).run();
}

PerLane<double> exposed_seconds(const Program& program, const Plan& plan,
                                const Timeline& timeline) {
  const Exposure exposure = Walk(program, plan, timeline, nullptr).run();
  PerLane<double> seconds{};
  for (std::size_t lane = 0; lane < kLaneCount; ++lane)
    seconds[lane] = exposure.lanes[lane].exposed_s;
  return seconds;
}

Exposure exposure_of(const StepRecord& step, const HardwareModel& hardware) {
  Exposure sum;
  for (const ProgramRun& run : step.runs)
    sum.add(exposure_of(*run.program, *run.plan, run.timeline, hardware));
  const double between_s = step.step_seconds - sum.step_s;
  const double data_s = std::clamp(step.data_seconds, 0.0, std::max(0.0, between_s));
  sum.step_s = step.step_seconds;
  sum.causes[index(Cause::kData)] += data_s;
  sum.causes[index(Cause::kDispatch)] += between_s - data_s;
  sum.layers[kNoLayer].still_s += between_s;
  return sum;
}

std::vector<StillStretch> still_stretches(const StepRecord& step, const HardwareModel& hardware) {
  std::vector<StillStretch> all;
  double until_s = 0;
  double data_s = step.data_seconds;
  // Sequences are read before all else that is done there.
  const auto add_between = [&](double from_s, double to_s) {
    if (to_s <= from_s) return;
    StillStretch& stretch = all.emplace_back(StillStretch{.start_s = from_s, .end_s = to_s});
    const double read_s = std::clamp(data_s, 0.0, to_s - from_s);
    stretch.causes[index(Cause::kData)] = read_s;
    stretch.causes[index(Cause::kDispatch)] = to_s - from_s - read_s;
    data_s -= read_s;
  };
  for (std::uint32_t i = 0; i < step.runs.size(); ++i) {
    const ProgramRun& run = step.runs[i];
    add_between(until_s, run.start_s);
    const std::size_t first = all.size();
    Walk(*run.program, *run.plan, run.timeline, &hardware).run(&all);
    for (StillStretch& stretch : std::span(all).subspan(first)) {
      stretch.run = i;
      stretch.start_s += run.start_s;
      stretch.end_s += run.start_s;
    }
    until_s = run.start_s + run.timeline.step_seconds;
  }
  add_between(until_s, step.step_seconds);
  std::ranges::sort(all, {}, &StillStretch::start_s);
  return all;
}

}  // namespace ebbtide::report
