#include "src/report/task_texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "src/report/trace_events.hpp"

namespace ebbtide::report {

TaskTexts::TaskTexts(const Program& program, const Plan& plan) : program_(program), plan_(plan) {
  for (std::size_t kind = 0; kind < program.kind_count(); ++kind)
    kinds_.push_back(json_escaped(program.kind(static_cast<KindId>(kind)).name));
  for (OpId op = 0; op < program.op_count(); ++op) {
    const KernelId kernel = program.op(op).kernel;
    if (kernels_.size() <= kernel) kernels_.resize(kernel + std::size_t{1});
    if (kernels_[kernel].empty()) kernels_[kernel] = json_escaped(program.kernel(kernel).name);
  }
}

std::string TaskTexts::name(TaskAt at) const {
  const Task& task = plan_.task(at);
  if (task.kind() == TaskKind::kOp) return kernels_[program_.op(task.first).kernel];
  std::vector<KindId> kinds;
  for (const Segment& segment : plan_.segments_of(task)) {
    const KindId kind = program_.value(segment.value).kind;
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
  }
  std::string name = task.kind() == TaskKind::kMove ? "move " : "";
  for (std::size_t i = 0; i < std::min(kinds.size(), kMostKinds); ++i)
    fmt::format_to(std::back_inserter(name), "{}{}", i > 0 ? ", " : "", kinds_[kinds[i]]);
  if (kinds.size() > kMostKinds)
    fmt::format_to(std::back_inserter(name), " and {} more kinds", kinds.size() - kMostKinds);
  return name;
}

std::string TaskTexts::args(TaskAt at, const TaskWait& wait) const {
  const Task& task = plan_.task(at);
  std::string args = fmt::format(R"("task":{})", at.index);
  if (task.kind() == TaskKind::kOp)
    add_op(task.first, args);
  else
    add_values(plan_.segments_of(task), args);
  fmt::format_to(std::back_inserter(args), R"(,"wait_seconds":{})", wait.seconds);
  if (wait.waited_for) args += waited_for(*wait.waited_for);
  return args;
}

std::string TaskTexts::waited_for(TaskAt at) const {
  return fmt::format(R"(,"waited_for":"{} task {}: {}")", ebbtide::name(at.lane), at.index,
                     name(at));
}

void TaskTexts::add_op(OpId op, std::string& args) const {
  const OpCost& cost = program_.cost(op);
  std::uint64_t bytes = 0;
  for (const Use& use : program_.uses(op)) bytes += program_.value(use.value).size_bytes;
  fmt::format_to(std::back_inserter(args), R"(,"bytes":{},"flops":{},"memory_bytes":{})", bytes,
                 cost.flops, cost.memory_bytes);
  if (cost.sent_bytes > 0)
    fmt::format_to(std::back_inserter(args), R"(,"sent_bytes":{})", cost.sent_bytes);
  if (const Value* value = placed_value(op)) add_place(*value, args);
}

void TaskTexts::add_values(std::span<const Segment> segments, std::string& args) const {
  std::uint64_t bytes = 0;
  for (const Segment& segment : segments) bytes += program_.value(segment.value).size_bytes;
  fmt::format_to(std::back_inserter(args), R"(,"bytes":{},"flops":0)", bytes);
  if (!segments.empty()) add_place(program_.value(segments.front().value), args);
  args += R"(,"values":")";
  for (std::size_t i = 0; i < std::min(segments.size(), kMostValues); ++i)
    fmt::format_to(std::back_inserter(args), "{}{}", i > 0 ? ", " : "",
                   json_escaped(program_.describe(segments[i].value)));
  if (segments.size() > kMostValues)
    fmt::format_to(std::back_inserter(args), " and {} more", segments.size() - kMostValues);
  args += '"';
}

void TaskTexts::add_place(const Value& value, std::string& args) const {
  if (value.at[0] >= 0) fmt::format_to(std::back_inserter(args), R"(,"layer":{})", value.at[0]);
  if (value.at[1] >= 0) fmt::format_to(std::back_inserter(args), R"(,"chunk":{})", value.at[1]);
}

const Value* TaskTexts::placed_value(OpId op) const {
  const Value* placed = nullptr;
  for (const Use& use : program_.uses(op)) {
    const Value& value = program_.value(use.value);
    if (value.at[0] < 0 && value.at[1] < 0) continue;
    if (use.writes()) return &value;
    if (placed == nullptr) placed = &value;
  }
  return placed;
}

}  // namespace ebbtide::report
