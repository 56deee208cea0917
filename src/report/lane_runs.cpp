#include "src/report/lane_runs.hpp"

#include <algorithm>

namespace ebbtide::report {
namespace {

double segment_bytes(const Program& program, const Plan& plan, const Task& task) {
  double bytes = 0;
  for (const Segment& segment : plan.segments_of(task))
    bytes += static_cast<double>(program.value(segment.value).size_bytes);
  return bytes;
}

}  // namespace

Holds::Holds(const Plan& plan, const Timeline& timeline) : plan_(plan), timeline_(timeline) {
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    std::vector<std::uint32_t>& last = last_of_prefix_[lane];
    const std::vector<Interval>& tasks = timeline.tasks[lane];
    last.reserve(tasks.size());
    for (std::uint32_t i = 0; i < tasks.size(); ++i)
      last.push_back(i > 0 && tasks[last.back()].end_s > tasks[i].end_s ? last.back() : i);
  }
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    if (plan.width[lane] <= 1) continue;
    std::optional<Hold> so_far;
    for (std::uint32_t i = 0; i < timeline.tasks[lane].size(); ++i) {
      const std::optional<Hold> hold = own({static_cast<Lane>(lane), i});
      if (hold && (!so_far || !ended_later(*so_far, *hold))) so_far = hold;
      in_order_[lane].push_back(so_far);
    }
  }
}

std::optional<Hold> Holds::of(TaskAt at) const {
  const std::vector<std::optional<Hold>>& in_order = in_order_[index(at.lane)];
  return in_order.empty() ? own(at) : in_order[at.index];
}

std::optional<Hold> Holds::own(TaskAt at) const {
  std::optional<Hold> last;
  const std::uint32_t width = std::max(plan_.width[index(at.lane)], 1U);
  if (at.index >= width) last = later(last, at, index(at.lane), at.index + 1 - width);
  for (const Wait wait : plan_.waits_of(plan_.task(at)))
    last = later(last, at, wait.lane, wait.count);
  return last;
}

std::optional<Hold> Holds::of_end() const {
  std::optional<Hold> last;
  for (std::size_t lane = 0; lane < kLaneCount; ++lane)
    last =
        later(last, std::nullopt, lane, static_cast<std::uint32_t>(timeline_.tasks[lane].size()));
  return last;
}

std::optional<Hold> Holds::later(const std::optional<Hold>& than, std::optional<TaskAt> held,
                                 std::size_t lane, std::uint32_t count) const {
  if (count == 0) return than;
  const Hold hold{{static_cast<Lane>(lane), last_of_prefix_[lane][count - 1]},
                  {static_cast<Lane>(lane), count - 1},
                  held};
  return !than || ended_later(hold, *than) ? hold : than;
}

bool Holds::ended_later(const Hold& hold, const Hold& than) const {
  const auto end_s = [this](TaskAt at) { return timeline_.tasks[index(at.lane)][at.index].end_s; };
  return end_s(hold.last) > end_s(than.last);
}

LaneRuns::LaneRuns(const Program& program, const Plan& plan, const Timeline& timeline,
                   const Holds& holds) {
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    const Lane lane = static_cast<Lane>(i);
    if (!is_transfer(lane)) continue;
    std::vector<LaneRun>& runs = runs_[i];
    double busy_until_s = 0;
    for (std::uint32_t at = 0; at < timeline.tasks[i].size(); ++at) {
      const Interval& ran = timeline.tasks[i][at];
      const std::optional<Hold> hold = holds.of({lane, at});
      const bool goes_on =
          at > 0 && (ran.start_s < busy_until_s || (hold && hold->last.lane == lane));
      if (!goes_on)
        runs.push_back({.first = at, .idle_s = ran.start_s - busy_until_s, .start_s = ran.start_s});
      busy_until_s = std::max(busy_until_s, ran.end_s);
      LaneRun& run = runs.back();
      ++run.tasks;
      run.end_s = busy_until_s;
      run.bytes += segment_bytes(program, plan, plan.tasks[i][at]);
      run_of_[i].push_back(static_cast<std::uint32_t>(runs.size() - 1));
    }
  }
}

}  // namespace ebbtide::report
