// Tasks of a lane as they are drawn: those too short to be seen are merged with their neighbours
// into blocks, the shorter the more of them there are, so that a page of a million tasks stays
// small and draws fast. Whatever is merged, sums stay: tasks, busy seconds, bytes, flops, waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"
#include "ebbtide/types.hpp"
#include "src/report/step_record.hpp"

namespace ebbtide::report {

// A task of a step by its run.
struct StepTask {
  std::uint32_t run = 0;  // index into StepRecord::runs
  TaskAt at;
};

struct Block {
  double start_s = 0;  // from the start of the step
  double end_s = 0;
  double busy_s = 0;  // the lane was at work; tasks that overlap count once
  std::uint64_t tasks = 1;
  std::uint64_t bytes = 0;  // moved; of ops, read and written in memory, or sent to other ranks
  double flops = 0;
  std::array<double, kOpClassCount> class_s{};  // of ops whose class is known, by OpClass
  double waited_s = 0;  // the lane was free, and another had not finished what the task needs
  StepTask longest;     // of its tasks
  double longest_s = 0;
  StepTask waited_for;  // what the longest of its waits was for
  double longest_wait_s = 0;
};

// In the order in which they start, with what each waited for.
std::vector<Block> tasks_of(const StepRecord& record, Lane lane);

struct BlockLevel {
  double quantum_s = 0;  // blocks of more than one task are at most this long; 0: none is merged
  std::vector<Block> blocks;
};

// Neighbours that are merged span no more than the quantum; longer tasks stay alone.
std::vector<Block> merged(const std::vector<Block>& blocks, double quantum_s);

// The finest level has at most `most` blocks, each further one about an eighth of the one before,
// as long as there are more than a screen is wide.
std::vector<BlockLevel> levels_of(std::vector<Block> tasks, double step_seconds, std::size_t most);

}  // namespace ebbtide::report
