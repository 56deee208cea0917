// An order in which the tasks of a plan may run, and what each task knows to have finished before
// it starts.
#pragma once

#include <cstdint>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/types.hpp"

namespace ebbtide::execute {

class PlanOrder {
 public:
  // Requires a plan without deadlock.
  explicit PlanOrder(const Plan& plan);

  const std::vector<TaskAt>& tasks() const { return order_; }
  // Whether `first` has always finished before `second` starts.
  bool is_before(TaskAt first, TaskAt second) const {
    return known_[index(second.lane)][second.index][index(first.lane)] > first.index;
  }

 private:
  using Known = PerLane<std::uint32_t>;  // by lane, how many of its tasks have finished

  bool is_ready(Lane lane) const;
  void visit(Lane lane);
  // Adds what is known once `lane` has finished its first `count` tasks.
  void learn(Known& known, Lane lane, std::uint32_t count) const;

  const Plan& plan_;
  PerLane<std::vector<Known>> known_;  // by task, at its start; a later task never knows less
  std::vector<TaskAt> order_;
};

}  // namespace ebbtide::execute
