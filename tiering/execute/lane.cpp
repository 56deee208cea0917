#include "tiering/execute/lane.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ebbtide/error.hpp"

namespace ebbtide::execute {

void LaneWalker::walk() noexcept {
  try {
    walk_tasks();
  } catch (...) {
    step_.failure.keep(std::current_exception());
    step_.progress.abort();
  }
}

bool LaneWalker::await_all(const Task& task) {
  for (const Wait wait : step_.plan->waits_of(task)) {
    if (!step_.progress.await(lane_, static_cast<Lane>(wait.lane), wait.count)) return false;
  }
  return !step_.progress.aborted();
}

void LaneWalker::touch(Tier tier, std::uint64_t address, std::uint64_t size_bytes) {
  const std::uint64_t limit = step_.size_bytes(tier);
  EBBTIDE_CHECK(size_bytes <= limit && address <= limit - size_bytes,
                fmt::format("the {} lane touches bytes {} to {} of the {} tier, which has {}",
                            name(lane_), address, address + size_bytes, name(tier), limit));
  std::uint64_t& highest = record_.touched_bytes[index(tier)];
  highest = std::max(highest, address + extent(size_bytes, tier));
}

std::byte* LaneWalker::touch_memory(Tier tier, std::uint64_t address, std::uint64_t size_bytes) {
  touch(tier, address, size_bytes);
  return step_.memory(tier).data() + address;
}

void SerialLane::prepare() {
  std::size_t operands = operands_.size();
  std::size_t copies = copies_.size();
  for (const Task& task : tasks()) {
    if (task.kind() == TaskKind::kOp) {
      operands = std::max<std::size_t>(operands, step_.program->op(task.first).use_count);
    } else {
      copies = std::max<std::size_t>(copies, task.count);
    }
  }
  operands_.resize(operands);
  copies_.resize(copies);
}

void SerialLane::walk_tasks() {
  for (std::uint32_t i = 0; i < tasks().size(); ++i) {
    const Task& task = tasks()[i];
    if (!await_all(task)) return;
    poison(step_, lane_, i, Moment::kBefore);
    interval(i).start_s = step_.now_s();
    perform(task);
    interval(i).end_s = step_.now_s();
    poison(step_, lane_, i, Moment::kAfter);
    step_.progress.finish(lane_, i + 1);
  }
}

void SerialLane::perform(const Task& task) {
  switch (task.kind()) {
    case TaskKind::kOp:
      return run_op(task.first);
    case TaskKind::kMove:
      return move(step_.plan->segments_of(task));
    case TaskKind::kTransfer:
      return copy(step_.plan->segments_of(task));
  }
  contract_violated("a kind of task", __FILE__, __LINE__, std::to_string(task.kind_bits));
}

void SerialLane::run_op(OpId id) {
  const Program& program = *step_.program;
  const Op& op = program.op(id);
  const Kernel& kernel = program.kernel(op.kernel);
  EBBTIDE_CHECK(kernel.run, kernel.name + " has no callback");
  const Tier tier = operand_tier(kernel.place);
  const std::span<const Use> uses = program.uses(id);
  for (std::uint32_t i = 0; i < uses.size(); ++i) {
    operands_[i] = touch_memory(tier, step_.plan->operand_address(op.uses_begin + i),
                                value_bytes(uses[i].value));
  }
  void* stream = tier == Tier::kDevice ? step_.device.stream(lane_) : nullptr;
  kernel.run({program.args(id), std::span(operands_).first(uses.size()), stream});
}

void SerialLane::move(std::span<const Segment> segments) {
  for (const Segment& segment : segments) {
    const std::uint64_t bytes = value_bytes(segment.value);
    step_.device.move({touch_memory(Tier::kDevice, segment.to, bytes),
                       touch_memory(Tier::kDevice, segment.from, bytes), bytes});
    record_.moved_bytes += bytes;
  }
}

void SerialLane::copy(std::span<const Segment> segments) {
  const Route ends = route(lane_);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::uint64_t bytes = value_bytes(segments[i].value);
    copies_[i] = {touch_memory(ends.to, segments[i].to, bytes),
                  touch_memory(ends.from, segments[i].from, bytes), bytes};
    record_.moved_bytes += bytes;
  }
  step_.device.copy(lane_, std::span(copies_).first(segments.size()));
}

}  // namespace ebbtide::execute
