// What held each task of a timeline until it started, and the stretches in which a transfer lane
// was at work without a rest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"
#include "ebbtide/timeline.hpp"

namespace ebbtide::report {

// Of all that a task had to wait for, its lane's own tasks included, what ended last.
struct Hold {
  TaskAt last;   // the task that ended last of those that the wait counts
  TaskAt named;  // the last one that it counts, for whose sake it is there
  // The task that waited: tasks of a lane start in order, so it may be one before. Nothing at the
  // end of the step.
  std::optional<TaskAt> held;
};

class Holds {
 public:
  // Both outlive it.
  Holds(const Plan& plan, const Timeline& timeline);

  // Nothing for a task that could start with the step.
  std::optional<Hold> of(TaskAt at) const;
  // What ended last of the whole step.
  std::optional<Hold> of_end() const;

 private:
  std::optional<Hold> own(TaskAt at) const;
  std::optional<Hold> later(const std::optional<Hold>& than, std::optional<TaskAt> held,
                            std::size_t lane, std::uint32_t count) const;
  bool ended_later(const Hold& hold, const Hold& than) const;

  const Plan& plan_;
  const Timeline& timeline_;
  PerLane<std::vector<std::uint32_t>> last_of_prefix_;  // of the first i + 1 tasks, the last to end
  PerLane<std::vector<std::optional<Hold>>> in_order_;  // of lanes wider than 1, by task
};

// Tasks of one lane, one after the other: each but the first was held by the lane itself, or
// started while it was at work.
struct LaneRun {
  std::uint32_t first = 0;
  std::uint32_t tasks = 0;
  double idle_s = 0;   // that the lane had rested before
  double taken_s = 0;  // of these, the latest first, by the accounting
  double start_s = 0;
  double end_s = 0;
  double bytes = 0;

  // Takes so many of the seconds before the run, or what is left of them; returns how many.
  double take(double seconds) {
    const double taken = std::min(seconds, idle_s - taken_s);
    taken_s += taken;
    return taken;
  }
};

class LaneRuns {
 public:
  LaneRuns(const Program& program, const Plan& plan, const Timeline& timeline, const Holds& holds);

  // Requires a task of a transfer lane.
  LaneRun& of(TaskAt at) { return runs_[index(at.lane)][run_of_[index(at.lane)][at.index]]; }

 private:
  PerLane<std::vector<std::uint32_t>> run_of_;  // by task
  PerLane<std::vector<LaneRun>> runs_;
};

}  // namespace ebbtide::report
