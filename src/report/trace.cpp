#include "src/report/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/report/exposure.hpp"
#include "src/report/occupancy.hpp"
#include "src/report/task_order.hpp"
#include "src/report/task_texts.hpp"
#include "src/report/task_waits.hpp"
#include "src/report/trace_flows.hpp"

namespace ebbtide::report {
namespace {

// Tracks in the order in which they are shown; each lane has room for as many as its disk could
// have in flight.
constexpr std::int32_t kStepTrack = 100;
constexpr std::int32_t kRunTrack = 200;
constexpr std::int32_t kStillTrack = 300;
constexpr std::int32_t kTracksALane = 10000;
constexpr std::array kShown{Lane::kCompute,   Lane::kHostCompute, Lane::kComm, Lane::kD2h,
                            Lane::kNvmeWrite, Lane::kNvmeRead,    Lane::kH2d};

std::int32_t first_track(Lane lane) {
  const auto at = std::ranges::find(kShown, lane) - kShown.begin();
  return static_cast<std::int32_t>(at + 1) * kTracksALane;
}

TraceSpan span_of(const ProgramRun& run, TaskAt at, TraceTime origin) {
  const Interval& when = run.timeline.tasks[index(at.lane)][at.index];
  return {origin + trace_time(run.start_s + when.start_s),
          origin + trace_time(run.start_s + when.end_s)};
}

// Before almost every op there is less than that, which would hide the rest.
constexpr double kShortestDispatch = 10e-6;

std::string text(Cause cause) {
  std::string words(name(cause));
  std::ranges::replace(words, '_', ' ');
  return words;
}

std::string wait_name(const StillStretch& stretch) {
  if (!stretch.waited_for) return text(stretch.main_cause());
  return fmt::format("compute waits for {}: {}", name(stretch.waited_for->lane),
                     text(stretch.main_cause()));
}

// Seconds in all and by cause; the lane that was waited for.
std::string wait_args(const StillStretch& stretch) {
  std::string causes;
  for (std::size_t cause = 0; cause < kCauseCount; ++cause)
    if (stretch.causes[cause] > 0)
      causes += fmt::format(R"({}"{}":{})", causes.empty() ? "" : ",",
                            name(static_cast<Cause>(cause)), stretch.causes[cause]);
  std::string args =
      fmt::format(R"("seconds":{},"causes":{{{}}})", stretch.end_s - stretch.start_s, causes);
  if (stretch.waited_for) args += fmt::format(R"(,"lane":"{}")", name(stretch.waited_for->lane));
  return args;
}

std::uint64_t moved_bytes(const ProgramRun& run, const Task& task) {
  std::uint64_t bytes = 0;
  for (const Segment& segment : run.plan->segments_of(task))
    bytes += run.program->value(segment.value).size_bytes;
  return bytes;
}

}  // namespace

// Flows by the tasks that they leave and reach; a flow's number is its place in `flows`.
struct Trace::Run {
  Run(const ProgramRun& of_run, TraceTime of_step, std::uint64_t first_number)
      : run(of_run),
        origin(of_step),
        order(by_start(*run.plan, run.timeline)),
        flows(report::flows(*run.program, *run.plan, order)),
        texts(*run.program, *run.plan),
        waits(*run.plan, run.timeline),
        first_flow(first_number) {
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      leaving[lane].resize(run.plan->tasks[lane].size());
      reaching[lane].resize(run.plan->tasks[lane].size());
    }
    for (std::size_t i = 0; i < flows.size(); ++i) {
      leaving[index(flows[i].from.lane)][flows[i].from.index].push_back(first_flow + i);
      reaching[index(flows[i].to.lane)][flows[i].to.index].push_back(first_flow + i);
    }
  }

  const ProgramRun& run;
  TraceTime origin;
  std::vector<TaskAt> order;
  std::vector<Flow> flows;
  TaskTexts texts;
  TaskWaits waits;
  std::uint64_t first_flow;
  PerLane<std::vector<std::vector<std::uint64_t>>> leaving;   // numbers of flows, by task
  PerLane<std::vector<std::vector<std::uint64_t>>> reaching;  // the same
};

Trace::Trace(const std::filesystem::path& path, const std::string& process, std::int32_t rank)
    : file_(path), events_(file_), process_(rank + 1) {
  events_.name_process(process_, json_escaped(process));
  events_.name_track({process_, kStepTrack}, "step");
  events_.name_track({process_, kRunTrack}, "runs");
  events_.name_track({process_, kStillTrack}, "compute waits");
  file_.keep();
}

void Trace::add(const StepRecord& record, const HardwareModel& hardware) {
  const TraceTime origin = end_;
  end_ = origin + trace_time(record.step_seconds);
  const std::string name =
      record.step > 0 ? fmt::format("step {}", record.step) : std::string("simulated step");
  events_.slice({process_, kStepTrack}, {origin, end_},
                {name, "step", fmt::format(R"("data_seconds":{})", record.data_seconds)});
  for (const ProgramRun& run : record.runs) add_run(run, origin);
  add_waits(record, origin, hardware);
  file_.keep();
}

void Trace::add_run(const ProgramRun& run, TraceTime origin) {
  const TraceSpan span{origin + trace_time(run.start_s),
                       origin + trace_time(run.start_s + run.timeline.step_seconds)};
  events_.slice({process_, kRunTrack}, span, {json_escaped(run.name), "run", ""});
  const Run written(run, origin, flow_count_);
  flow_count_ += written.flows.size();
  task_count_ += written.order.size();
  for (const TaskAt at : written.order) add_task(written, at);
  add_held(run, origin);
  for (const Lane lane : kShown)
    if (is_transfer(lane)) add_rates(run, lane, origin);
}

void Trace::add_task(const Run& of, TaskAt at) {
  const TraceSpan span = span_of(of.run, at, of.origin);
  const Track track = track_for(at.lane, span);
  events_.slice(track, span,
                {of.texts.name(at), ebbtide::name(at.lane), of.texts.args(at, of.waits.of(at))});
  for (const std::uint64_t id : of.reaching[index(at.lane)][at.index])
    events_.flow_in(track, span.start, id);
  for (const std::uint64_t id : of.leaving[index(at.lane)][at.index])
    events_.flow_out(track, flow_end(span), id);
}

Track Trace::track_for(Lane lane, const TraceSpan& span) {
  std::vector<TraceTime>& busy_until = busy_until_[index(lane)];
  const auto free =
      std::ranges::find_if(busy_until, [&span](TraceTime until) { return until <= span.start; });
  const auto at = static_cast<std::int32_t>(free - busy_until.begin());
  const Track track{process_, first_track(lane) + at};
  if (free != busy_until.end()) {
    *free = span.end;
    return track;
  }
  busy_until.push_back(span.end);
  events_.name_track(track, at == 0 ? std::string(ebbtide::name(lane))
                                    : fmt::format("{} {}", ebbtide::name(lane), at + 1));
  return track;
}

void Trace::add_waits(const StepRecord& record, TraceTime origin, const HardwareModel& hardware) {
  std::vector<TaskTexts> texts;
  for (const ProgramRun& run : record.runs) texts.emplace_back(*run.program, *run.plan);
  for (const StillStretch& stretch : still_stretches(record, hardware)) {
    if (!stretch.waited_for && stretch.end_s - stretch.start_s < kShortestDispatch) continue;
    const TraceSpan span{origin + trace_time(stretch.start_s), origin + trace_time(stretch.end_s)};
    std::string args = wait_args(stretch);
    if (stretch.waited_for) args += texts[stretch.run].waited_for(*stretch.waited_for);
    events_.slice({process_, kStillTrack}, span, {wait_name(stretch), "compute waits", args});
  }
}

void Trace::add_held(const ProgramRun& run, TraceTime origin) {
  const TraceTime start = origin + trace_time(run.start_s);
  const PerTier<std::vector<HeldChange>> all = held_changes(*run.program, *run.plan, run.timeline);
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
    const std::vector<HeldChange>& changes = all[index(tier)];
    auto held = static_cast<std::int64_t>(run.program->home_bytes()[index(tier)]);
    if (held == 0 && changes.empty()) continue;
    const std::string name = fmt::format("{} held", ebbtide::name(tier));
    events_.counter(process_, name, "bytes", start, static_cast<double>(held));
    const auto time = [&](std::size_t i) {
      return origin + trace_time(run.start_s + changes[i].at_s);
    };
    for (std::size_t i = 0; i < changes.size(); ++i) {
      held += changes[i].bytes;
      // Of one moment only what it ends with.
      if (i + 1 == changes.size() || time(i + 1) != time(i))
        events_.counter(process_, name, "bytes", time(i), static_cast<double>(held));
    }
  }
}

// Bytes over seconds of the tasks in flight.
void Trace::add_rates(const ProgramRun& run, Lane lane, TraceTime origin) {
  const std::vector<Task>& tasks = run.plan->tasks[index(lane)];
  std::vector<std::pair<TraceTime, double>> changes;
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    const TraceSpan span = span_of(run, {lane, i}, origin);
    if (span.end == span.start) continue;
    const double rate = static_cast<double>(moved_bytes(run, tasks[i])) /
                        (static_cast<double>(span.end - span.start) / kTraceTimesASecond);
    changes.emplace_back(span.start, rate);
    changes.emplace_back(span.end, -rate);
  }
  std::ranges::sort(changes);
  double rate = 0;
  std::int64_t in_flight = 0;
  const std::string name = fmt::format("{} rate", ebbtide::name(lane));
  for (std::size_t i = 0; i < changes.size(); ++i) {
    in_flight += changes[i].second > 0 ? 1 : -1;
    // Sums of rates do not come back to zero by themselves.
    rate = in_flight > 0 ? rate + changes[i].second : 0;
    if (i + 1 == changes.size() || changes[i + 1].first != changes[i].first)
      events_.counter(process_, name, "GB/s", changes[i].first, rate / 1e9);
  }
}

}  // namespace ebbtide::report
