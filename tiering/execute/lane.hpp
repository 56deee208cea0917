// A lane walks its list of a plan's tasks in order: waits, performs, tells how far it is.
//
// Thread safety: prepare() and record() need the lane at rest; walk() runs on the lane's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ebbtide/device.hpp"
#include "tiering/execute/step.hpp"

namespace ebbtide::execute {

// What a lane saw itself do since the engine was made.
struct LaneRecord {
  PerTier<std::uint64_t> touched_bytes{};  // end of the highest place touched
  std::uint64_t moved_bytes = 0;
};

class LaneWalker {
 public:
  LaneWalker(Lane lane, Step& step) : lane_(lane), step_(step) {}
  virtual ~LaneWalker() = default;
  LaneWalker(const LaneWalker&) = delete;
  LaneWalker& operator=(const LaneWalker&) = delete;

  // Makes room for the step's plan: nothing is allocated for a plan no larger than one before.
  virtual void prepare() = 0;
  // Blocks until every task has finished, or the run is aborted and nothing is in flight. A failure
  // is kept in the step and aborts the run.
  void walk() noexcept;
  const LaneRecord& record() const { return record_; }

 protected:
  virtual void walk_tasks() = 0;

  const std::vector<Task>& tasks() const { return step_.plan->tasks[index(lane_)]; }
  std::uint64_t value_bytes(ValueId id) const { return step_.program->value(id).size_bytes; }
  Interval& interval(std::uint32_t task) { return step_.timeline.tasks[index(lane_)][task]; }
  // Blocks until every wait of a task is met; false: the run was aborted.
  bool await_all(const Task& task);
  // Records that a range is used. Throws ContractViolation where it leaves the tier.
  void touch(Tier tier, std::uint64_t address, std::uint64_t size_bytes);
  std::byte* touch_memory(Tier tier, std::uint64_t address, std::uint64_t size_bytes);

  const Lane lane_;
  Step& step_;
  LaneRecord record_;
};

// A lane of width 1: ops, moves and copies, each done when its call returns.
class SerialLane final : public LaneWalker {
 public:
  using LaneWalker::LaneWalker;
  void prepare() override;

 private:
  void walk_tasks() override;
  void perform(const Task& task);
  void run_op(OpId op);
  void move(std::span<const Segment> segments);
  void copy(std::span<const Segment> segments);

  std::vector<std::byte*> operands_;
  std::vector<CopySegment> copies_;
};

}  // namespace ebbtide::execute
