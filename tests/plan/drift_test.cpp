// A hardware model is never quite right. A plan whose copies just hide by the model still hides
// them on a device that turns out somewhat faster.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ebbtide/plan.hpp"
#include "ebbtide/timeline.hpp"
#include "src/model/llama.hpp"

namespace ebbtide {
namespace {

Program offloading_step() {
  const model::ModelConfig config = model::preset("demo");
  const model::StepShape shape{
      .seq_len = 8192, .chunk_tokens = 256, .attention_group = 4, .dtype = DType::kBf16};
  const model::ModelHomes homes =
      model::lay_out_homes(config, shape, {Tier::kDevice, Tier::kDevice, Tier::kHost});
  const model::ActivationPolicy policy{.mode = model::ActivationMode::kOffload,
                                       .reach = Reach::kHost};
  return model::forward_backward_program(config, homes, {.shape = shape, .activations = policy},
                                         nullptr);
}

HardwareModel faster(HardwareModel hardware, double factor) {
  hardware.device_flops_per_s *= factor;
  hardware.device_memory_bytes_per_s *= factor;
  hardware.op_overhead_s /= factor;
  return hardware;
}

// The link takes `busy` of compute's time to carry what leaves when it costs nothing to leave.
HardwareModel with_link(const Program& program, const Budgets& budgets, double busy) {
  HardwareModel hardware = generic_cpu_hardware();
  double compute_s = 0;
  for (OpId op = 0; op < program.op_count(); ++op) compute_s += hardware.op_seconds(program, op);
  const Plan unhindered = make_plan(program, budgets, hardware, {});
  const auto bytes = static_cast<double>(unhindered.moved_bytes[index(Lane::kD2h)]);
  hardware.d2h = hardware.h2d = {bytes / (busy * compute_s), 2e-5};
  return hardware;
}

class Drift : public ::testing::TestWithParam<double> {};

TEST_P(Drift, OfATenthLeavesLoadsInTime) {
  const Program program = offloading_step();
  const Budgets budgets{std::uint64_t{4} << 30, std::uint64_t{4} << 30, 0};
  const HardwareModel hardware = with_link(program, budgets, GetParam());
  const Plan plan = make_plan(program, budgets, hardware, {});
  ASSERT_TRUE(verify(program, plan).ok());
  ASSERT_GT(plan.moved_bytes[index(Lane::kH2d)], std::uint64_t{50} << 20);
  for (const double factor : {0.9, 1.0, 1.05, 1.1}) {
    const Timeline timeline = simulate(program, plan, faster(hardware, factor));
    const LoadCount loads = timeline.loads(plan);
    const auto in_time = static_cast<double>(loads.in_time) / static_cast<double>(loads.all);
    EXPECT_GE(in_time, 0.95) << "a device " << factor << " times as fast";
    EXPECT_LE(timeline.step_seconds, 1.02 * timeline.busy_seconds(Lane::kCompute))
        << "a device " << factor << " times as fast";
  }
}

INSTANTIATE_TEST_SUITE_P(LinkBusyFor, Drift, ::testing::Values(0.5, 0.7, 0.85, 1.0),
                         [](const auto& param) {
                           return fmt::format("{:.0f}Percent", 100 * param.param);
                         });

}  // namespace
}  // namespace ebbtide
