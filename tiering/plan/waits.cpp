#include "tiering/plan/waits.hpp"

#include <algorithm>

namespace ebbtide::planning {
namespace {

// By lane: how many of its first tasks are known to have finished.
using Clock = PerLane<std::uint32_t>;

void raise(Clock& clock, const Clock& to) {
  for (std::size_t lane = 0; lane < kLaneCount; ++lane)
    clock[lane] = std::max(clock[lane], to[lane]);
}

class WaitMaker {
 public:
  WaitMaker(const Adjacency& predecessors, const LaneOrder& order, Plan& plan)
      : predecessors_(predecessors), order_(order), plan_(plan) {
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      finished_[lane].reserve(order.tasks[lane].size() + 1);
      finished_[lane].push_back(Clock{});
    }
  }

  void run() {
    for (const TaskAt& place : order_.started) make_waits_of(place);
  }

 private:
  void make_waits_of(const TaskAt& place) {
    const std::size_t lane = index(place.lane);
    const std::uint32_t width = order_.width[lane];
    Clock& started = started_[lane];  // starts are in order: what held for the last one holds
    if (place.index + 1 > width) raise(started, finished_[lane][place.index + 1 - width]);
    const Clock wanted = wanted_by(order_.tasks[lane][place.index]);
    Task& task = plan_.tasks[lane][place.index];
    task.waits_begin = static_cast<std::uint32_t>(plan_.waits.size());
    for (std::uint32_t other = 0; other < kLaneCount; ++other) {
      if (wanted[other] <= started[other] || implied(wanted, other)) continue;
      plan_.waits.push_back({other & 7U, wanted[other] & 0x1fffffffU});
    }
    task.wait_count = static_cast<std::uint8_t>(plan_.waits.size() - task.waits_begin);
    for (const Wait& wait : plan_.waits_of(task)) raise(started, finished_[wait.lane][wait.count]);
    Clock finished = finished_[lane].back();
    raise(finished, started);
    finished[lane] = place.index + 1;
    finished_[lane].push_back(finished);
  }

  Clock wanted_by(const LaneTask& task) const {
    Clock wanted{};
    for (std::uint32_t i = 0; i < task.count; ++i) {
      for (const NodeId before : predecessors_[order_.members[task.first + i]]) {
        const TaskAt& at = order_.place_of[before];
        wanted[index(at.lane)] = std::max(wanted[index(at.lane)], at.index + 1);
      }
    }
    return wanted;
  }

  // Whether another wait of the same task already says it.
  bool implied(const Clock& wanted, std::uint32_t lane) const {
    for (std::size_t other = 0; other < kLaneCount; ++other)
      if (other != lane && wanted[other] > 0 &&
          finished_[other][wanted[other]][lane] >= wanted[lane])
        return true;
    return false;
  }

  const Adjacency& predecessors_;
  const LaneOrder& order_;
  Plan& plan_;
  PerLane<std::vector<Clock>> finished_;  // [lane][n]: known once its first n tasks have finished
  PerLane<Clock> started_{};
};

}  // namespace

void make_waits(const Adjacency& predecessors, const LaneOrder& order, Plan& plan) {
  WaitMaker(predecessors, order, plan).run();
}

}  // namespace ebbtide::planning
