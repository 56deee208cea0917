// Where the time of a step went: what every lane did, and for each second in which compute stood
// still the lane that it stood waiting for and the cause. Pure; works alike on measured and on
// simulated steps. docs/design.md has the rules.
//
// Invariants
//  1. The causes add up to the time in which compute stood still.
//  2. Of each lane, hidden + exposed + idle seconds are the step.
//  3. What lanes are charged with, data and dispatch add up to the time of 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "ebbtide/hardware.hpp"
#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"
#include "ebbtide/timeline.hpp"
#include "src/report/step_record.hpp"

namespace ebbtide::report {

enum class Cause : std::uint8_t {
  kLateIssue,       // the lane had rested before: the prefetch distance is too short
  kDeviceRoom,      // a transfer or an op waited for a place on the device
  kHostRoom,        // ... in the host arena
  kNvmeRoom,        // ... in the swap files
  kLinkRate,        // the lane had not rested: the link is too slow for these bytes
  kDiskRate,        // the same of a drive
  kSmallTransfers,  // the lane had not rested, for the latency of its tasks
  kHostOptimizer,   // ops on the host
  kCollective,      // ops between ranks
  kData,            // sequences were read
  kDispatch,        // nothing was waited for any more: wake-ups, and the engine's own time
};
inline constexpr std::size_t kCauseCount = 11;
template <typename T>
using PerCause = std::array<T, kCauseCount>;

constexpr std::size_t index(Cause cause) {
  return static_cast<std::size_t>(cause);
}
std::string_view name(Cause cause);  // "late_issue", "device_room", ...

struct LaneTime {
  double busy_s = 0;
  double exposed_s = 0;  // of these, compute stood still for what the lane was at work on
  std::uint64_t bytes = 0;
  std::uint64_t tasks = 0;
  PerCause<double> causes{};  // of the exposed seconds

  double hidden_s() const { return busy_s - exposed_s; }
};

struct LayerTime {
  double compute_s = 0;
  double still_s = 0;  // before ops of this layer
};

struct Exposure {
  double step_s = 0;
  PerLane<LaneTime> lanes{};
  PerCause<double> causes{};
  std::map<std::int32_t, LayerTime> layers;  // -1: what belongs to no layer, and the step's ends

  const LaneTime& of(Lane lane) const { return lanes[ebbtide::index(lane)]; }
  double idle_s(Lane lane) const { return step_s - of(lane).busy_s; }
  double still_s() const;
  // That lanes are charged with.
  double exposed_s() const;
  // The largest one; requires that compute stood still.
  Cause main_cause() const;
  void add(const Exposure& other, double times = 1);
};

// Of one run of a plan. The model says which latency is a lane's own.
// Requires a timeline of this plan.
Exposure exposure_of(const Program& program, const Plan& plan, const Timeline& timeline,
                     const HardwareModel& hardware);
// The lanes' part of it alone, for a small part of the time.
PerLane<double> exposed_seconds(const Program& program, const Plan& plan, const Timeline& timeline);

// Of a step; between runs nothing computes.
Exposure exposure_of(const StepRecord& step, const HardwareModel& hardware);

// A stretch in which compute stood still for one task, or for none: between runs, or where nothing
// was waited for any more.
struct StillStretch {
  double start_s = 0;  // from the start of the step
  double end_s = 0;
  std::uint32_t run = 0;             // of the step, where a task was waited for
  std::optional<TaskAt> waited_for;  // a task of that run
  PerCause<double> causes{};         // seconds; they add up to the stretch

  Cause main_cause() const;
};
// All of a step, in the order of time: what exposure_of() adds up.
std::vector<StillStretch> still_stretches(const StepRecord& step, const HardwareModel& hardware);

}  // namespace ebbtide::report
