#include "ebbtide/plan.hpp"

#include "tiering/plan/verify_clocks.hpp"
#include "tiering/plan/verify_content.hpp"
#include "tiering/plan/verify_faults.hpp"
#include "tiering/plan/verify_form.hpp"
#include "tiering/plan/verify_pieces.hpp"

namespace ebbtide {
namespace verifying {

std::string describe(const Program& program, const Plan& plan, TaskAt at) {
  const Task& task = plan.task(at);
  if (task.kind() != TaskKind::kOp) return fmt::format("{} task {}", name(at.lane), at.index);
  return fmt::format("{} task {} (op {}, {})", name(at.lane), at.index, task.first,
                     program.kernel(program.op(task.first).kernel).name);
}

std::string describe(const Program& program, const Plan& plan, Wait finish) {
  if (finish.count == 0) return "nothing";
  return describe(program, plan,
                  TaskAt{static_cast<Lane>(std::uint32_t{finish.lane}), finish.count - 1U});
}

std::string describe(const Program& program, ValueId value) {
  if (value < program.value_count()) return program.describe(value);
  return value == kForeign ? "a home of another program" : "nothing whole";
}

}  // namespace verifying

std::string_view name(PlanFault fault) {
  switch (fault) {
    case PlanFault::kNone:
      return "none";
    case PlanFault::kMalformed:
      return "malformed";
    case PlanFault::kDeadlock:
      return "deadlock";
    case PlanFault::kWrongContent:
      return "wrong content";
    case PlanFault::kUnorderedRead:
      return "unordered read";
    case PlanFault::kUnorderedReuse:
      return "unordered reuse";
    case PlanFault::kOverBudget:
      return "over budget";
    case PlanFault::kOpOrder:
      return "op order";
    case PlanFault::kEndState:
      return "end state";
  }
  return "unknown";
}

Verdict verify(const Program& program, const Plan& plan) {
  using namespace verifying;
  try {
    check_form(program, plan);
    const Clocks clocks(plan);
    if (const auto& stuck = clocks.stuck())
      reject(PlanFault::kDeadlock, "{} waits for {}, which can never finish",
             describe(program, plan, stuck->task), describe(program, plan, stuck->wait));
    check_content(program, plan, clocks);
  } catch (const Rejected& rejected) {
    return rejected.verdict;
  }
  return {};
}

}  // namespace ebbtide
