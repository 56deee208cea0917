// Since when a tier had room for a transfer that had not been issued yet.
//
// Not thread-safe: what tiers hold is found when it is first asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"
#include "ebbtide/timeline.hpp"

namespace ebbtide::report {

class FreeRoom {
 public:
  FreeRoom(const Program& program, const Plan& plan, const Timeline& timeline)
      : program_(program), plan_(plan), timeline_(timeline) {}

  // The earliest moment from `not_before_s` on since which, until `until_s`, as many bytes as the
  // transfer brings were free in their tier. Counts bytes, not holes.
  double since_s(TaskAt transfer, double until_s, double not_before_s);

 private:
  // What a tier holds from a moment on, homes left out.
  struct Held {
    double since_s = 0;
    std::uint64_t bytes = 0;
  };

  void find_what_is_held();

  const Program& program_;
  const Plan& plan_;
  const Timeline& timeline_;
  std::optional<PerTier<std::vector<Held>>> held_;  // one entry for each moment of change
};

}  // namespace ebbtide::report
