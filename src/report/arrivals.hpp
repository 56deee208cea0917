// When the data of transfers came to where these take it from.
//
// Not thread-safe: arrivals are listed when they are first asked for.
#pragma once

#include <optional>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"
#include "ebbtide/timeline.hpp"

namespace ebbtide::report {

class Arrivals {
 public:
  Arrivals(const Program& program, const Plan& plan, const Timeline& timeline)
      : program_(program), plan_(plan), timeline_(timeline) {}

  // The task that brought or made the last of what the transfer carries; nothing where all was
  // there when the run began.
  std::optional<TaskAt> of(TaskAt transfer);

 private:
  struct Arrival {
    ValueId value = 0;
    double at_s = 0;
    TaskAt by;

    bool operator<(const Arrival& other) const {
      return value != other.value ? value < other.value : at_s < other.at_s;
    }
  };

  void list();
  void add_op(const Task& task, double end_s, TaskAt at);

  const Program& program_;
  const Plan& plan_;
  const Timeline& timeline_;
  std::optional<PerTier<std::vector<Arrival>>> arrivals_;  // sorted
};

}  // namespace ebbtide::report
