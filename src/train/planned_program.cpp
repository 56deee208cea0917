#include "src/train/planned_program.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "ebbtide/error.hpp"
#include "ebbtide/timeline.hpp"
#include "src/train/resolve_options.hpp"

namespace ebbtide::train {
namespace {

Plan plan_or_explain(const std::string& name, const Program& program,
                     const PlanSettings& settings) {
  const Budgets& budgets = settings.budgets;
  try {
    return make_plan(program, budgets, settings.hardware, settings.options);
  } catch (const Error& error) {
    if (error.code() != make_error_code(Errc::kDoesNotFit)) throw;
    std::string flags = fmt::format("--device-memory {}, --host-memory {}, --nvme-memory {}",
                                    budgets.device_bytes, budgets.host_bytes, budgets.nvme_bytes);
    const std::vector<std::uint64_t>& limits = settings.options.resident_limit_bytes;
    if (!limits.empty() && limits[0] != kNoLimit)
      flags += fmt::format(", --max-live-parameters {}", limits[0]);
    throw Error(Errc::kDoesNotFit, fmt::format("{}: {} ({})", name, error.what(), flags));
  }
}

}  // namespace

PlannedProgram plan_program(std::string name, Program program, const PlanSettings& settings) {
  Plan plan = plan_or_explain(name, program, settings);
  const Verdict verdict = verify(program, plan);
  EBBTIDE_CHECK(verdict.ok(), fmt::format("the plan of {} is wrong: {}: {}", name,
                                          ebbtide::name(verdict.fault), verdict.message));
  const double seconds = simulate(program, plan, settings.hardware).step_seconds;
  double op_seconds = 0;
  for (OpId op = 0; op < program.op_count(); ++op)
    op_seconds += settings.hardware.op_seconds(program, op);
  return {std::move(name), std::move(program), std::move(plan), seconds, op_seconds};
}

}  // namespace ebbtide::train
