// Virtual time: every task starts when its waits are met, its lane's tasks before it have started
// and the width leaves room. A transfer lane is one pipe: bytes pass one task after the other at
// the lane's rate, and each task ends a latency after its last byte, so that latencies overlap as
// far as the width allows. Lanes do not share rates, so each task's times follow from those
// before it, whatever the order of the walk.
#include <algorithm>
#include <string>

#include "ebbtide/error.hpp"
#include "ebbtide/timeline.hpp"

namespace ebbtide {
namespace {

class Walk {
 public:
  Walk(const Program& program, const Plan& plan, const HardwareModel& hardware)
      : program_(program), plan_(plan), hardware_(hardware) {}

  Timeline run() {
    for (std::size_t lane = 0; lane < kLaneCount; ++lane)
      timeline_.tasks[lane].reserve(plan_.tasks[lane].size());
    while (step()) {
    }
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      EBBTIDE_CHECK(timeline_.tasks[lane].size() == plan_.tasks[lane].size(),
                    "lane " + std::string(name(static_cast<Lane>(lane))) + " stops at task " +
                        std::to_string(timeline_.tasks[lane].size()) + " of " +
                        std::to_string(plan_.tasks[lane].size()));
    }
    return std::move(timeline_);
  }

 private:
  // Takes every lane as far as it goes. False when none went on.
  bool step() {
    bool went_on = false;
    for (std::size_t i = 0; i < kLaneCount; ++i) {
      const Lane lane = static_cast<Lane>(i);
      const std::vector<Task>& tasks = plan_.tasks[i];
      while (timeline_.tasks[i].size() < tasks.size() &&
             can_start(tasks[timeline_.tasks[i].size()])) {
        run(lane, tasks[timeline_.tasks[i].size()]);
        went_on = true;
      }
    }
    return went_on;
  }

  bool can_start(const Task& task) const {
    return std::ranges::all_of(plan_.waits_of(task), [&](Wait wait) {
      return wait.lane < kLaneCount && wait.count <= timeline_.tasks[wait.lane].size();
    });
  }

  void run(Lane lane, const Task& task) {
    std::vector<Interval>& done = timeline_.tasks[index(lane)];
    const std::size_t width = std::max<std::size_t>(plan_.width[index(lane)], 1);
    double start_s = done.empty() ? 0 : done.back().start_s;
    if (done.size() >= width) start_s = std::max(start_s, done[done.size() - width].end_s);
    for (const Wait wait : plan_.waits_of(task))
      if (wait.count > 0)
        start_s = std::max(start_s, timeline_.tasks[wait.lane][wait.count - 1].end_s);
    const double end_s = end_of(lane, task, start_s);
    done.push_back({start_s, end_s});
    timeline_.step_seconds = std::max(timeline_.step_seconds, end_s);
  }

  // Ends never fall within a lane, so that the last of a prefix to end is its last task.
  double end_of(Lane lane, const Task& task, double start_s) {
    if (task.kind() == TaskKind::kTransfer) {
      const Rate& rate = hardware_.rate(lane);
      double& pipe_free_s = pipe_free_s_[index(lane)];
      pipe_free_s = std::max(pipe_free_s, start_s) + segment_bytes(task) / rate.bytes_per_s;
      return pipe_free_s + rate.latency_s;
    }
    if (task.kind() == TaskKind::kMove)
      return start_s + hardware_.op_overhead_s * task.count +
             hardware_.move_seconds(segment_bytes(task));
    return start_s + hardware_.op_seconds(program_, task.first);
  }

  double segment_bytes(const Task& task) const {
    double bytes = 0;
    for (const Segment& segment : plan_.segments_of(task))
      bytes += static_cast<double>(program_.value(segment.value).size_bytes);
    return bytes;
  }

  const Program& program_;
  const Plan& plan_;
  const HardwareModel& hardware_;
  Timeline timeline_;
  PerLane<double> pipe_free_s_{};
};

}  // namespace

Timeline simulate(const Program& program, const Plan& plan, const HardwareModel& hardware) {
  return Walk(program, plan, hardware).run();
}

}  // namespace ebbtide
