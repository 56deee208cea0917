// How transfers are joined, and how early they go: what a bucket size and a prefetch distance do.
#include <gtest/gtest.h>

#include "ebbtide/timeline.hpp"
#include "tests/plan/layered_program.hpp"

namespace ebbtide::plan_test {
namespace {

constexpr std::uint64_t kRoom = std::uint64_t{64} << 20;

// docs/faults.md D4 (DeepSpeed#7415: a counter was not reset, so that every value went alone for
// ever): two ops, one after the other, each write twelve values that leave.
TEST(Buckets, AreFilledInEachRound) {
  constexpr std::uint64_t kValues = 12;
  constexpr std::uint64_t kBytes = 4096;
  Program program;
  const KindId kind = program.add_kind({"value", "values", {}});
  const KernelId kernel = program.add_kernel({"make", Place::kDevice, {}});
  std::vector<std::vector<Use>> reads(2);
  for (std::vector<Use>& round : reads) {
    std::vector<Use> writes;
    for (std::uint64_t i = 0; i < kValues; ++i) {
      const ValueId value =
          program.add_value({.size_bytes = kBytes, .kind = kind, .reach = Reach::kHost});
      writes.push_back(write(value, After::kLeave));
      round.push_back(read(value));
    }
    program.add_op(kernel, writes, {}, {1e11, 0});
  }
  program.add_op(kernel, {write(program.add_value({.size_bytes = kBytes, .kind = kind}))},
                 std::uint64_t{0}, {1e11, 0});
  for (const std::vector<Use>& round : reads) program.add_op(kernel, round, {}, {1e11, 0});
  for (const std::uint64_t values_a_bucket : {1, 2, 5, 12, 100}) {
    const Plan plan = make_plan(program, {kRoom, kRoom, 0}, generic_cpu_hardware(),
                                {.bucket_bytes = values_a_bucket * kBytes});
    const std::uint64_t a_round = (kValues + values_a_bucket - 1) / values_a_bucket;
    EXPECT_EQ(plan.tasks[index(Lane::kD2h)].size(), 2 * a_round) << values_a_bucket;
  }
}

// Loads that are at work while the op before their own still runs.
int hits(const Layered& layered, std::uint32_t prefetch) {
  const Plan plan = make_plan(layered.program, {layered.device_bytes(3), kRoom, 0},
                              generic_cpu_hardware(), {.prefetch_chunk_steps = prefetch});
  const Timeline timeline = simulate(layered.program, plan, generic_cpu_hardware());
  const std::vector<Task>& ops = plan.tasks[index(Lane::kCompute)];
  const std::vector<Task>& loads = plan.tasks[index(Lane::kH2d)];
  int count = 0;
  for (std::size_t load = 0; load < loads.size(); ++load) {
    const ValueId value = plan.segments_of(loads[load])[0].value;
    for (std::size_t at = 1; at < ops.size(); ++at) {
      if (ops[at].kind() != TaskKind::kOp) continue;
      const auto uses = layered.program.uses(ops[at].first);
      const bool reads = uses.size() == 2 && uses[1].value == value && uses[1].reads();
      const Interval& before = timeline.tasks[index(Lane::kCompute)][at - 1];
      count += reads && timeline.tasks[index(Lane::kH2d)][load].start_s < before.end_s;
    }
  }
  return count;
}

// docs/faults.md H1 (DeepSpeed#1069: a step id was off by one, so that every prefetch was skipped).
TEST(PrefetchDistance, LetsLoadsGoBeforeTheyAreNeeded) {
  const Layered layered({.layers = 12, .offloaded = 12});
  EXPECT_EQ(hits(layered, 0), 0);
  EXPECT_GE(hits(layered, 1), 8);
  // In room for three values a long reach gains less, but it gains.
  for (const std::uint32_t prefetch : {2, 12, 17}) EXPECT_GT(hits(layered, prefetch), 0);
}

}  // namespace
}  // namespace ebbtide::plan_test
