// A step as a page shows it: sums by lane, cause and kernel, the timeline in levels of detail,
// memory by category. Plain data of bounded size that stands for itself: programs, plans and
// timelines are not needed any more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ebbtide/hardware.hpp"
#include "ebbtide/types.hpp"
#include "src/report/exposure.hpp"
#include "src/report/memory_over_step.hpp"
#include "src/report/step_record.hpp"
#include "src/report/task_blocks.hpp"

namespace ebbtide::report {

// What a block says of itself when it is pointed at; indexes into StepView::names.
struct BlockNames {
  std::uint32_t what = 0;                   // the kernel or the value of its longest task
  std::optional<std::uint32_t> made;        // of an op, the first value that it writes
  std::optional<std::uint32_t> waited_for;  // the task, with its lane
};

struct LevelView {
  BlockLevel level;
  std::vector<BlockNames> names;  // one a block
};

struct LaneView {
  std::uint64_t tasks = 0;
  std::uint64_t bytes = 0;
  double flops = 0;
  std::vector<LevelView> levels;  // finest first; none where the lane has no task
};

struct KernelUse {
  std::string kernel;
  Lane lane = Lane::kCompute;
  std::optional<OpClass> op_class;
  std::uint64_t ops = 0;
  double seconds = 0;
  double flops = 0;
  double bytes = 0;  // in memory, or sent
};

struct RunView {
  std::string name;
  double start_s = 0;
  double end_s = 0;
};

// A stretch in which compute stood still, and the cause that most of it is charged to.
struct StillView {
  double start_s = 0;  // from the start of the step
  double end_s = 0;
  Cause cause = Cause::kDispatch;
};

struct StepView {
  std::int64_t step = 0;  // 0: simulated
  double step_seconds = 0;
  std::vector<RunView> runs;
  Exposure exposure;
  std::vector<StillView> still;     // of compute, the longest, in the order of time
  std::uint64_t shorter_still = 0;  // stretches that are left out
  double shorter_still_s = 0;       // and their time
  PerLane<LaneView> lanes;
  std::vector<KernelUse> kernels;  // longest first
  PerTier<TierMemory> memory;
  std::vector<std::string> names;
};

StepView step_view(const StepRecord& record, const HardwareModel& hardware);

// Bytes of the record, of its view and of what making both takes, at most.
std::uint64_t step_view_bytes(const StepRecord& record);

}  // namespace ebbtide::report
