// A program with the plan that runs it.
#pragma once

#include <string>

#include "ebbtide/hardware.hpp"
#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"

namespace ebbtide::train {

struct PlanSettings {
  Budgets budgets;
  HardwareModel hardware;
  PlanOptions options;
};

struct PlannedProgram {
  std::string name;  // "forward and backward", ...
  Program program;
  Plan plan;
  double seconds = 0;     // that it takes, simulated
  double op_seconds = 0;  // of its ops one after the other
};

// Plans, simulates and proves the plan. Throws Error(kDoesNotFit) that names the budgets' flags,
// and ContractViolation where the verifier rejects what the planner made.
PlannedProgram plan_program(std::string name, Program program, const PlanSettings& settings);

}  // namespace ebbtide::train
