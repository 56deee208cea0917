// How much more than it must the planner moves between device and host: the step of the demo at 64K
// tokens against a linear relaxation.
#include <gtest/gtest.h>

#include <cstdio>

#include "src/model/llama.hpp"
#include "tests/plan/exact_traffic.hpp"
#include "tests/plan/random_program.hpp"
#include "tests/plan/relaxed_traffic.hpp"
#include "tests/plan/traffic_ratio.hpp"

namespace ebbtide::plan_test {
namespace {

constexpr double kWithin = 1.15;

Program demo_at_64k_tokens() {
  const model::ModelConfig config = model::preset("demo");
  model::StepShape shape{.seq_len = 65536, .dtype = DType::kF32};
  shape.chunk_tokens = model::auto_chunk_tokens(config, shape.seq_len, shape.dtype);
  shape.attention_group = model::auto_attention_group(config, shape);
  const model::ModelHomes homes =
      model::lay_out_homes(config, shape, {Tier::kHost, Tier::kHost, Tier::kHost});
  return model::forward_backward_program(config, homes, {.shape = shape}, nullptr);
}

void compare(const Program& program, std::uint64_t device_bytes, double bound,
             const HardwareModel& hardware, Prefetch prefetch) {
  const Budgets budgets{device_bytes, std::uint64_t{1} << 40, 0};
  const Plan plan = make_plan(program, budgets, hardware, options_with(prefetch));
  const double ratio = device_traffic_bytes(plan) / bound;
  std::printf("  %.0f MiB, %s%s: %.3f\n", static_cast<double>(device_bytes) / (1 << 20),
              hardware.name.c_str(), prefetch == Prefetch::kNone ? ", no prefetch" : "", ratio);
  EXPECT_GE(ratio, 1 - 1e-6) << device_bytes;
  EXPECT_LE(ratio, kWithin) << device_bytes;
}

TEST(TrafficOfTheDemo, IsWithinAboutASeventhOfALinearRelaxation) {
  if (!can_relax()) GTEST_SKIP() << "this build has no solver of linear programs (Clp)";
  const Program program = demo_at_64k_tokens();
  const DeviceStays open = device_stays(program);
  const auto smallest = static_cast<double>(smallest_device_budget(program));
  for (const double times : {1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0}) {
    const auto device_bytes = static_cast<std::uint64_t>(times * smallest);
    const auto bound = relaxed_traffic(open, program, device_bytes);
    ASSERT_TRUE(bound) << times;
    // Most of it is there for want of room, so the budget does bind.
    EXPECT_GE(*bound, 10 * static_cast<double>(open.unavoidable_bytes));
    for (const Prefetch prefetch : {Prefetch::kAuto, Prefetch::kNone})
      for (const HardwareModel& hardware : {generic_cpu_hardware(), card_hardware()})
        compare(program, device_bytes, *bound, hardware, prefetch);
  }
}

TEST(RelaxedTraffic, IsABoundFromBelowAndNearTheOptimum) {
  if (!can_relax()) GTEST_SKIP() << "this build has no solver of linear programs (Clp)";
  double relaxed_bytes = 0, exact_bytes = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Program program = random_program(
        seed, {.ops_min = 20, .ops_max = 40, .size_min_bytes = 4096, .size_max_bytes = 32 << 10});
    const std::uint64_t device_bytes = smallest_device_budget(program) * (20 + seed % 11) / 20;
    const auto relaxed = relaxed_traffic(device_stays(program), program, device_bytes);
    const auto exact = exact_traffic(program, device_bytes);
    ASSERT_TRUE(relaxed && exact) << "seed " << seed;
    ASSERT_LE(*relaxed, static_cast<double>(*exact) + 1) << "seed " << seed;
    relaxed_bytes += *relaxed;
    exact_bytes += static_cast<double>(*exact);
  }
  EXPECT_GE(relaxed_bytes, 0.90 * exact_bytes);
}

}  // namespace
}  // namespace ebbtide::plan_test
