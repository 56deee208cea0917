// The bytes that a task reads and those that it writes: why one task of a plan had to wait for
// another.
//
// Not thread-safe: it keeps its scratch memory.
#pragma once

#include <cstdint>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"

namespace ebbtide::report {

class TaskPlaces {
 public:
  TaskPlaces(const Program& program, const Plan& plan) : program_(program), plan_(plan) {}

  // Whether a task waited for one before it for the sake of a place that this one had used, and not
  // for its data.
  bool waited_for_room(TaskAt task, TaskAt before);

 private:
  struct Range {
    Tier tier = Tier::kDevice;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    auto operator<=>(const Range&) const = default;
  };
  struct Places {
    std::vector<Range> read;
    std::vector<Range> written;
  };

  void gather(TaskAt at, Places& places) const;
  void gather_op(OpId op, Places& places) const;
  Range range(Tier tier, std::uint64_t address, ValueId value) const;
  // Sorts one of the two.
  static bool overlap(const std::vector<Range>& some, std::vector<Range>& others);

  const Program& program_;
  const Plan& plan_;
  Places after_;
  Places before_;
};

}  // namespace ebbtide::report
