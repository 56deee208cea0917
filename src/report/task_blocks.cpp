#include "src/report/task_blocks.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/report/task_waits.hpp"

namespace ebbtide::report {
namespace {

// Blocks of a level that draws at once at any width of a screen.
constexpr std::size_t kFewBlocks = 1500;
// A coarser level merges what is this much longer.
constexpr double kCoarser = 8;
// The shortest tasks are tried to be seen at this part of the step.
constexpr double kShortest = 1.0 / (1 << 22);

// One run's tasks of one lane as blocks.
class RunTasks {
 public:
  RunTasks(const ProgramRun& run, std::uint32_t run_index, Lane lane)
      : run_(run), run_index_(run_index), lane_(lane), waits_(*run.plan, run.timeline) {}

  void append_to(std::vector<Block>& blocks) {
    const auto count = static_cast<std::uint32_t>(run_.plan->tasks[index(lane_)].size());
    for (std::uint32_t i = 0; i < count; ++i) blocks.push_back(block({lane_, i}));
  }

 private:
  Block block(TaskAt at) {
    const Interval& when = run_.timeline.tasks[index(at.lane)][at.index];
    Block block{.start_s = run_.start_s + when.start_s,
                .end_s = run_.start_s + when.end_s,
                .busy_s = std::max(0.0, when.end_s - std::max(when.start_s, busy_until_s_)),
                .longest = {run_index_, at},
                .longest_s = when.end_s - when.start_s};
    busy_until_s_ = std::max(busy_until_s_, when.end_s);
    add_work(run_.plan->task(at), block);
    add_wait(at, block);
    return block;
  }

  void add_work(const Task& task, Block& block) const {
    const Program& program = *run_.program;
    if (task.kind() != TaskKind::kOp) {
      for (const Segment& segment : run_.plan->segments_of(task))
        block.bytes += program.value(segment.value).size_bytes;
      return;
    }
    const OpCost& cost = program.cost(task.first);
    const bool sends = program.place(task.first) == Place::kComm;
    block.bytes = static_cast<std::uint64_t>(sends ? cost.sent_bytes : cost.memory_bytes);
    block.flops = cost.flops;
    if (const auto of = program.kernel(program.op(task.first).kernel).op_class)
      block.class_s[static_cast<std::size_t>(*of)] = block.longest_s;
  }

  void add_wait(TaskAt at, Block& block) const {
    const TaskWait wait = waits_.of(at);
    if (!wait.waited_for) return;
    block.waited_s = block.longest_wait_s = wait.seconds;
    block.waited_for = {run_index_, *wait.waited_for};
  }

  const ProgramRun& run_;
  std::uint32_t run_index_;
  Lane lane_;
  TaskWaits waits_;
  double busy_until_s_ = 0;
};

void take_in(const Block& next, Block& block) {
  block.end_s = std::max(block.end_s, next.end_s);
  block.busy_s += next.busy_s;
  block.tasks += next.tasks;
  block.bytes += next.bytes;
  block.flops += next.flops;
  for (std::size_t i = 0; i < kOpClassCount; ++i) block.class_s[i] += next.class_s[i];
  block.waited_s += next.waited_s;
  if (next.longest_s > block.longest_s) {
    block.longest = next.longest;
    block.longest_s = next.longest_s;
  }
  if (next.longest_wait_s > block.longest_wait_s) {
    block.waited_for = next.waited_for;
    block.longest_wait_s = next.longest_wait_s;
  }
}

// Nothing once there are more than `most`.
std::optional<std::vector<Block>> merged_to(const std::vector<Block>& blocks, double quantum_s,
                                            std::size_t most) {
  std::vector<Block> out;
  for (const Block& next : blocks) {
    if (!out.empty() && std::max(out.back().end_s, next.end_s) - out.back().start_s <= quantum_s) {
      take_in(next, out.back());
      continue;
    }
    if (out.size() == most) return std::nullopt;
    out.push_back(next);
  }
  return out;
}

}  // namespace

std::vector<Block> tasks_of(const StepRecord& record, Lane lane) {
  std::vector<Block> blocks;
  for (std::uint32_t run = 0; run < record.runs.size(); ++run)
    RunTasks(record.runs[run], run, lane).append_to(blocks);
  return blocks;
}

std::vector<Block> merged(const std::vector<Block>& blocks, double quantum_s) {
  return *merged_to(blocks, quantum_s, blocks.size());
}

std::vector<BlockLevel> levels_of(std::vector<Block> tasks, double step_seconds, std::size_t most) {
  std::vector<BlockLevel> levels;
  double quantum_s = step_seconds * kShortest;
  if (tasks.size() <= most) {
    levels.push_back({0, std::move(tasks)});
  } else {
    std::optional<std::vector<Block>> blocks;
    for (; !(blocks = merged_to(tasks, quantum_s, most)); quantum_s *= 2) {
    }
    levels.push_back({quantum_s, std::move(*blocks)});
  }
  while (levels.back().blocks.size() > kFewBlocks && quantum_s < step_seconds) {
    quantum_s *= kCoarser;
    std::vector<Block> coarser = merged(levels.back().blocks, quantum_s);
    if (coarser.size() > levels.back().blocks.size() / 2) continue;
    levels.push_back({quantum_s, std::move(coarser)});
  }
  return levels;
}

}  // namespace ebbtide::report
