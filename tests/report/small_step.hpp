// A planned step of the demo shape in bf16, with little room so that much is moved.
#pragma once

#include <stdexcept>

#include "src/hardware/known_machines.hpp"
#include "src/plan/planned_run.hpp"
#include "src/plan/simulated_step.hpp"
#include "src/report/step_record.hpp"

namespace ebbtide::report {

struct SmallStep {
  explicit SmallStep(std::int64_t chunk_tokens = 64) {
    plan::Request request;
    request.options.run.dtype = DType::kBf16;
    request.options.run.seq_len = 1024;
    request.options.planning.chunk_tokens = chunk_tokens;
    request.options.planning.activations = model::ActivationMode::kOffload;
    request.options.memory.device_bytes = std::uint64_t{24} << 20;
    request.options.memory.host_bytes = std::uint64_t{48} << 20;
    request.machine = hardware::load_machine("rtx4090");
    run = plan::plan_run(request);
    if (!run.fits()) throw std::runtime_error(run.why_not);
    record = plan::simulated_step(run);
  }

  plan::PlannedRun run;
  StepRecord record;  // of run's plans
};

}  // namespace ebbtide::report
