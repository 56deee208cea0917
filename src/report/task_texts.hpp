// What a trace says of a task: its name, and the members of its "args". Texts are JSON, escaped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"
#include "src/report/task_waits.hpp"

namespace ebbtide::report {

// Of the tasks of one plan. Program and plan outlive it.
class TaskTexts {
 public:
  TaskTexts(const Program& program, const Plan& plan);

  // The kernel of an op; the kinds of value that a transfer moves, "move" before those that stay on
  // the device.
  std::string name(TaskAt at) const;
  // Which task of its lane, what it moves or computes, for which layer and chunk, and how long it
  // waited for what.
  std::string args(TaskAt at, const TaskWait& wait) const;
  // A member that follows others: who was waited for.
  std::string waited_for(TaskAt at) const;

 private:
  // What a task has to do with; large buckets are described by their first values.
  static constexpr std::size_t kMostKinds = 3;
  static constexpr std::size_t kMostValues = 8;

  void add_op(OpId op, std::string& args) const;
  void add_values(std::span<const Segment> segments, std::string& args) const;
  void add_place(const Value& value, std::string& args) const;
  // The value that tells for which layer and chunk an op works: of those that it writes, or else
  // reads.
  const Value* placed_value(OpId op) const;

  const Program& program_;
  const Plan& plan_;
  std::vector<std::string> kinds_;    // names, by KindId
  std::vector<std::string> kernels_;  // names, by KernelId
};

}  // namespace ebbtide::report
