#include "ebbtide/timeline.hpp"

#include <algorithm>
#include <optional>

namespace ebbtide {
namespace {

// Charges the time in which compute stood still to the lanes that it stood waiting for: from the
// end of a stretch backwards, to the task last waited for while it ran, then to what that task had
// waited for itself, and so on to the start of the stretch.
class Exposure {
 public:
  Exposure(const Timeline& timeline, const Plan& plan) : timeline_(timeline), plan_(plan) {
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      std::vector<std::uint32_t>& last = last_of_prefix_[lane];
      const std::vector<Interval>& tasks = timeline.tasks[lane];
      for (std::uint32_t i = 0; i < tasks.size(); ++i)
        last.push_back(i > 0 && tasks[last.back()].end_s > tasks[i].end_s ? last.back() : i);
    }
  }

  PerLane<double> charge() {
    const std::vector<Interval>& compute = timeline_.tasks[index(Lane::kCompute)];
    double still_since_s = 0;
    for (std::uint32_t i = 0; i < compute.size(); ++i) {
      charge_stretch(still_since_s, compute[i].start_s, last_waited({Lane::kCompute, i}));
      still_since_s = std::max(still_since_s, compute[i].end_s);
    }
    charge_stretch(still_since_s, timeline_.step_seconds, last_of_step());
    return exposed_s_;
  }

 private:
  const Interval& ran(TaskAt at) const { return timeline_.tasks[index(at.lane)][at.index]; }
  double end_s(TaskAt at) const { return ran(at).end_s; }

  void charge_stretch(double begin_s, double end_s, std::optional<TaskAt> held_by) {
    while (begin_s < end_s && held_by) {
      const Interval& held = ran(*held_by);
      if (held.end_s <= begin_s || held_by->lane == Lane::kCompute) return;
      const double from_s = std::max(begin_s, std::min(held.start_s, end_s));
      exposed_s_[index(held_by->lane)] += std::min(end_s, held.end_s) - from_s;
      end_s = from_s;
      held_by = last_waited(*held_by);
    }
  }

  // Of all that a task had to wait for, its lane's own tasks included, what ended last.
  std::optional<TaskAt> last_waited(TaskAt at) const {
    std::optional<TaskAt> last;
    const std::uint32_t width = std::max(plan_.width[index(at.lane)], 1U);
    if (at.index >= width) last = later(last, index(at.lane), at.index + 1 - width);
    for (const Wait wait : plan_.waits_of(plan_.task(at)))
      last = later(last, wait.lane, wait.count);
    return last;
  }

  std::optional<TaskAt> last_of_step() const {
    std::optional<TaskAt> last;
    for (std::size_t lane = 0; lane < kLaneCount; ++lane)
      last = later(last, lane, static_cast<std::uint32_t>(timeline_.tasks[lane].size()));
    return last;
  }

  std::optional<TaskAt> later(std::optional<TaskAt> than, std::size_t lane,
                              std::uint32_t count) const {
    if (count == 0) return than;
    const TaskAt at{static_cast<Lane>(lane), last_of_prefix_[lane][count - 1]};
    return !than || end_s(at) > end_s(*than) ? at : than;
  }

  const Timeline& timeline_;
  const Plan& plan_;
  PerLane<std::vector<std::uint32_t>> last_of_prefix_;  // of the first i + 1 tasks, the last to end
  PerLane<double> exposed_s_{};
};

}  // namespace

double Timeline::busy_seconds(Lane lane) const {
  double busy_s = 0;
  double until_s = 0;  // all before is counted; tasks start in order
  for (const Interval& task : tasks[index(lane)]) {
    busy_s += std::max(0.0, task.end_s - std::max(task.start_s, until_s));
    until_s = std::max(until_s, task.end_s);
  }
  return busy_s;
}

// The first task of the device that waits for a load stands for what needs it: it came to that when
// its own task before had ended.
LoadCount Timeline::loads(const Plan& plan) const {
  const std::size_t h2d = index(Lane::kH2d);
  const std::size_t compute = index(Lane::kCompute);
  LoadCount count;
  std::uint32_t load = 0;
  double free_s = 0;  // the device has done all that stands before its task
  for (std::size_t i = 0; i < plan.tasks[compute].size(); ++i) {
    for (const Wait wait : plan.waits_of(plan.tasks[compute][i])) {
      if (wait.lane != h2d) continue;
      for (; load < wait.count; ++load) {
        const std::uint32_t values = plan.tasks[h2d][load].count;
        count.all += values;
        if (tasks[h2d][load].end_s <= free_s) count.in_time += values;
      }
    }
    free_s = std::max(free_s, tasks[compute][i].end_s);
  }
  return count;
}

PerLane<double> Timeline::exposed_seconds(const Plan& plan) const {
  return Exposure(*this, plan).charge();
}

}  // namespace ebbtide
