// Virtual time: every task starts when its waits are met, its lane's tasks before it have started
// and the width leaves room. A transfer lane is one pipe: bytes pass one task after the other, and
// each task ends a latency after its last byte, so that latencies overlap as far as the width
// allows. What is under way runs at its lane's speed, which changes when other lanes begin or end
// something that shares a path with it.
#include <algorithm>
#include <limits>
#include <queue>
#include <string>
#include <vector>

#include "ebbtide/error.hpp"
#include "ebbtide/timeline.hpp"
#include "tiering/simulate/contention.hpp"
#include "tiering/simulate/jitter.hpp"

namespace ebbtide {
namespace {

using simulation::Demand;

constexpr double kNever = std::numeric_limits<double>::infinity();

// A lane of the plan on its way.
struct LaneState {
  std::uint32_t started = 0;
  std::uint32_t ended = 0;      // of all before, none is under way
  std::uint32_t passed = 0;     // transfer lanes: all bytes of these have passed
  std::vector<bool> has_ended;  // by task
  // The task whose bytes pass, or the op that runs.
  bool busy = false;
  double left_s = 0;  // seconds of work left at full speed, as of `since_s`
  double since_s = 0;
  double demand = 0;  // of DRAM or of the pipe, at full speed
  double speed = 1;

  double end_s() const { return busy ? since_s + left_s / speed : kNever; }
};

// A transfer whose bytes have passed ends when the other side has answered.
struct Answer {
  double at_s = 0;
  TaskAt task;
  bool operator>(const Answer& other) const {
    if (at_s != other.at_s) return at_s > other.at_s;
    return std::pair(task.lane, task.index) > std::pair(other.task.lane, other.task.index);
  }
};

class Walk {
 public:
  Walk(const Program& program, const Plan& plan, const HardwareModel& hardware,
       const std::optional<Jitter>& jitter)
      : program_(program), plan_(plan), hardware_(hardware), jitter_(jitter) {
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      timeline_.tasks[lane].resize(plan.tasks[lane].size());
      lanes_[lane].has_ended.resize(plan.tasks[lane].size());
    }
  }

  Timeline run() {
    for (;;) {
      start_what_can();
      share();
      const double next_s = next_event_s();
      if (next_s == kNever) break;
      now_s_ = next_s;
      end_what_is_done();
    }
    for (std::size_t lane = 0; lane < kLaneCount; ++lane)
      EBBTIDE_CHECK(lanes_[lane].ended == plan_.tasks[lane].size(),
                    "lane " + std::string(name(static_cast<Lane>(lane))) + " stops at task " +
                        std::to_string(lanes_[lane].ended) + " of " +
                        std::to_string(plan_.tasks[lane].size()));
    timeline_.step_seconds = now_s_;
    return std::move(timeline_);
  }

 private:
  void start_what_can() {
    for (bool went_on = true; went_on;) {
      went_on = false;
      for (std::size_t i = 0; i < kLaneCount; ++i) {
        while (can_start(i)) {
          start(static_cast<Lane>(i));
          went_on = true;
        }
      }
    }
  }

  bool can_start(std::size_t lane) const {
    const LaneState& state = lanes_[lane];
    if (state.started == plan_.tasks[lane].size()) return false;
    const std::uint32_t width = std::max(plan_.width[lane], 1U);
    if (state.started >= width && !state.has_ended[state.started - width]) return false;
    return std::ranges::all_of(plan_.waits_of(plan_.tasks[lane][state.started]), [&](Wait wait) {
      return wait.lane < kLaneCount && wait.count <= lanes_[wait.lane].ended;
    });
  }

  void start(Lane lane) {
    LaneState& state = lanes_[index(lane)];
    timeline_.tasks[index(lane)][state.started].start_s = now_s_;
    ++state.started;
    if (!state.busy) work({lane, is_transfer(lane) ? state.passed : state.started - 1});
  }

  void work(TaskAt at) {
    LaneState& state = lanes_[index(at.lane)];
    state.busy = true;
    state.since_s = now_s_;
    state.speed = 1;
    const Task& task = plan_.task(at);
    if (task.kind() == TaskKind::kTransfer) {
      state.demand = hardware_.rate_alone(at.lane).bytes_per_s;
      state.left_s = segment_bytes(task) / state.demand;
    } else if (task.kind() == TaskKind::kMove) {
      state.left_s =
          hardware_.op_overhead_s * task.count + hardware_.move_seconds(segment_bytes(task));
    } else {
      state.left_s = hardware_.op_seconds(program_, task.first);
      const OpCost& cost = program_.cost(task.first);
      const double bytes = at.lane == Lane::kComm ? cost.sent_bytes : cost.memory_bytes;
      state.demand = bytes / std::max(state.left_s, 1e-12);
    }
    if (jitter_) state.left_s *= simulation::stretch(*jitter_, at);
    shares_are_stale_ = true;
  }

  // Gives every lane the speed that the others leave it.
  void share() {
    if (!shares_are_stale_) return;
    shares_are_stale_ = false;
    Demand demand{};
    for (std::size_t lane = 0; lane < kLaneCount; ++lane)
      demand[lane] = lanes_[lane].busy ? lanes_[lane].demand : 0;
    const PerLane<double> speeds = simulation::speeds(hardware_, demand);
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      LaneState& state = lanes_[lane];
      if (!state.busy || state.speed == speeds[lane]) continue;
      state.left_s -= (now_s_ - state.since_s) * state.speed;
      state.since_s = now_s_;
      state.speed = speeds[lane];
    }
  }

  double next_event_s() const {
    double next_s = answers_.empty() ? kNever : answers_.top().at_s;
    for (const LaneState& state : lanes_) next_s = std::min(next_s, state.end_s());
    return next_s;
  }

  void end_what_is_done() {
    for (; !answers_.empty() && answers_.top().at_s <= now_s_; answers_.pop())
      end(answers_.top().task);
    for (std::size_t i = 0; i < kLaneCount; ++i) {
      if (lanes_[i].end_s() > now_s_) continue;
      const Lane lane = static_cast<Lane>(i);
      lanes_[i].busy = false;
      shares_are_stale_ = true;
      if (is_transfer(lane))
        pass(lane);
      else
        end({lane, lanes_[i].started - 1});
    }
  }

  // The last byte of a transfer is through; the next task's follow.
  void pass(Lane lane) {
    LaneState& state = lanes_[index(lane)];
    const TaskAt at{lane, state.passed++};
    if (state.passed < state.started) work({lane, state.passed});
    const double latency_s = hardware_.rate(lane).latency_s + lateness_s(at);
    if (latency_s > 0)
      answers_.push({now_s_ + latency_s, at});
    else
      end(at);
  }

  double lateness_s(TaskAt at) const {
    const bool on_disk = at.lane == Lane::kNvmeRead || at.lane == Lane::kNvmeWrite;
    const double tail_s = hardware_.nvme_latency_p99_s - hardware_.rate(at.lane).latency_s;
    return jitter_ && on_disk && tail_s > 0 ? simulation::late_by(*jitter_, at, tail_s) : 0;
  }

  void end(TaskAt at) {
    LaneState& state = lanes_[index(at.lane)];
    timeline_.tasks[index(at.lane)][at.index].end_s = now_s_;
    state.has_ended[at.index] = true;
    while (state.ended < state.has_ended.size() && state.has_ended[state.ended]) ++state.ended;
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
  const std::optional<Jitter>& jitter_;
  Timeline timeline_;
  PerLane<LaneState> lanes_;
  std::priority_queue<Answer, std::vector<Answer>, std::greater<>> answers_;
  bool shares_are_stale_ = false;
  double now_s_ = 0;
};

}  // namespace

Timeline simulate(const Program& program, const Plan& plan, const HardwareModel& hardware,
                  const std::optional<Jitter>& jitter) {
  return Walk(program, plan, hardware, jitter).run();
}

}  // namespace ebbtide
