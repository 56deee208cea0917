// A whole training step of a tiny Llama (forward and backward, then the optimizer) under plans with
// little room, run by the interpreter with the real kernels in orders that seeds choose.
//
// 2 layers, H 16, Q 4, G 2, D 8, F 24, V 40; 29 tokens in chunks of 8, the last one short.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ebbtide/engine.hpp"
#include "src/model/llama.hpp"
#include "tests/model/llama_run.hpp"
#include "tests/plan/interpreter.hpp"

namespace ebbtide::plan_test {

enum class Room : std::uint8_t { kAmple, kTightDevice, kTightHost, kTightBoth };

struct RealStepSetting {
  std::string name;
  model::ActivationPolicy activations;
  Tier state = Tier::kDevice;  // of weights, gradients and optimizer state
  Room room = Room::kAmple;
  std::int64_t group = 1;
  DType dtype = DType::kF32;
  std::optional<std::uint32_t> prefetch_chunk_steps;
  std::uint64_t bucket_bytes = std::uint64_t{64} << 20;
};

struct PlannedStep {
  Program program;
  Plan plan;
};
PlannedStep plan_tightly(Program program, Room room, const PlanOptions& options);

// Loss, gradient norm, and each parameter's weight, master weight, moments and gradient.
using StepResult = std::vector<Bytes>;

double loss_of(const StepResult& result);
double gradient_norm_of(const StepResult& result);

// Of the same step run op after op with everything resident.
StepResult resident_result(DType dtype);

class RealStep {
 public:
  explicit RealStep(const RealStepSetting& setting);

  const PlannedStep& forward_backward() const { return *forward_backward_; }
  const PlannedStep& optimizer() const { return *optimizer_; }

  StepResult result(std::uint64_t order_seed);
  // The same by an engine; its arenas hold what the plans span.
  StepResult result_on(Engine& engine);
  // With other plans for one of the two programs.
  StepResult result_of_forward_backward(const Plan& tried, std::uint64_t order_seed);
  StepResult result_of_optimizer(const Plan& tried, std::uint64_t order_seed);

 private:
  Interpreter::RunOp run_op(const Program& program) const;
  Interpreter interpreter(const PlannedStep& step, const Plan& plan) const;
  StepResult result(Interpreter& first, Interpreter& second, std::uint64_t order_seed);

  testing::LlamaRun run_;
  PerTier<Bytes> start_;  // of the homes
  std::unique_ptr<PlannedStep> forward_backward_;
  std::unique_ptr<PlannedStep> optimizer_;
  std::unique_ptr<Interpreter> in_order_of_forward_backward_;
  std::unique_ptr<Interpreter> in_order_of_optimizer_;
};

}  // namespace ebbtide::plan_test
