// Plans of the forward and backward pass of a small Llama, three of them with names.
#pragma once

#include "ebbtide/hardware.hpp"
#include "ebbtide/plan.hpp"
#include "src/model/llama.hpp"
#include "tests/small_llama.hpp"

namespace ebbtide::plan_test {

// Loads are issued as soon as there is room: a nearer issue point would be a wait of its own.
inline constexpr std::uint32_t kUnlimited = 1U << 20;

struct RealPlan {
  Program program;
  Plan plan;
};

struct Scale {
  std::int64_t chunks = 8;
  std::int64_t chunk_tokens = 64;
};
// Small enough to be run in a hundred thousand orders.
inline constexpr Scale kSmallScale{.chunks = 4, .chunk_tokens = 16};

// A step whose last chunk is 12 tokens short, with a tenth more than the smallest device budget.
inline RealPlan plan_step(const model::ActivationPolicy& activations, Tier state,
                          std::int64_t group, const PlanOptions& options, Scale scale = {}) {
  const model::ModelConfig config = test::small_llama(128);
  const model::StepShape shape{.seq_len = scale.chunks * scale.chunk_tokens - 12,
                               .chunk_tokens = scale.chunk_tokens,
                               .attention_group = group,
                               .dtype = DType::kF32};
  const model::ModelHomes homes = model::lay_out_homes(config, shape, {state, state, state});
  RealPlan made;
  made.program = model::forward_backward_program(
      config, homes, {.shape = shape, .activations = activations}, nullptr);
  const std::uint64_t smallest = smallest_device_budget(made.program);
  const std::uint64_t homes_bytes = made.program.home_bytes()[index(Tier::kDevice)];
  const Budgets budgets{smallest + (smallest - homes_bytes) / 10, std::uint64_t{64} << 20,
                        std::uint64_t{256} << 20};
  made.plan = make_plan(made.program, budgets, generic_cpu_hardware(), options);
  return made;
}

inline RealPlan plan_with_activations_on_the_host(Scale scale = {}) {
  const PlanOptions options{.prefetch_chunk_steps = kUnlimited, .bucket_bytes = 0};
  return plan_step({.mode = model::ActivationMode::kOffload, .reach = Reach::kHost}, Tier::kDevice,
                   1, options, scale);
}
inline RealPlan plan_with_activations_on_disk(Scale scale = {}) {
  const PlanOptions options{
      .prefetch_chunk_steps = kUnlimited, .bucket_bytes = 1 << 16, .nvme_width = 32};
  return plan_step({.mode = model::ActivationMode::kOffload, .reach = Reach::kNvme}, Tier::kHost, 2,
                   options, scale);
}
inline RealPlan plan_with_recomputing_and_state_on_disk(Scale scale = {}) {
  const PlanOptions options{.prefetch_chunk_steps = kUnlimited, .nvme_width = 4};
  return plan_step({.mode = model::ActivationMode::kRecompute, .saved_fraction = 0}, Tier::kNvme, 4,
                   options, scale);
}

}  // namespace ebbtide::plan_test
