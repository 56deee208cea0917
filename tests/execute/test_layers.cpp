// Layers that save values and read them again, through a real engine whose lanes are late.
#include <gtest/gtest.h>

#include "tests/execute/delayed_disk.hpp"
#include "tests/execute/engine_under_test.hpp"
#include "tests/execute/mixing_program.hpp"
#include "tests/plan/layered_program.hpp"
#include "tests/plan/plan_builder.hpp"
#include "tiering/execute/seams.hpp"

namespace ebbtide::test {
namespace {

using namespace std::chrono_literals;
using plan_test::Layered;

struct Late {
  std::chrono::milliseconds op{0};
  std::chrono::milliseconds d2h{0};
  std::chrono::milliseconds h2d{0};
};

struct Outcome {
  bool right = false;  // the home is bit-equal to the ops in order with everything resident
  EngineCounters counters;
};

// One step on an engine with exactly the plan's bytes, freed blocks filled with NaN.
Outcome run(const Layered& layered, const Plan& plan, const Late& late) {
  const Verdict verdict = verify(layered.program, plan);
  EXPECT_TRUE(verdict.ok()) << verdict.message;
  const Program program =
      with_mixing_ops(layered.program, [&](OpId) { std::this_thread::sleep_for(late.op); });
  EngineOptions options;
  options.host_bytes = plan.span_bytes[index(Tier::kHost)];
  options.nvme_bytes = plan.span_bytes[index(Tier::kNvme)];
  options.nvme_paths = {disk_directory()};
  options.freed_blocks = FreedBlocks::kPoison;
  Engine engine(slow_device(plan.span_bytes[index(Tier::kDevice)],
                            [&](Lane lane) {
                              std::this_thread::sleep_for(lane == Lane::kD2h ? late.d2h : late.h2d);
                            }),
                options);
  const std::vector<Bytes> homes = random_homes(program, 1);
  const std::vector<Bytes> got = run_on(engine, program, plan, homes);
  return {got == run_in_order(with_mixing_ops(layered.program), homes), engine.counters()};
}

// docs/faults.md A4: room for two values that come back, a prefetch that would like four, slow ops.
// A fetch waits for its room; it does not take it.
TEST(Layers, StallTheirPrefetchUntilASlotIsFree) {
  const Layered layered({.layers = 32, .offloaded = 5});
  const Budgets budgets{layered.device_bytes(2), std::uint64_t{1} << 20, 0};
  const Plan plan =
      make_plan(layered.program, budgets, generic_cpu_hardware(), {.prefetch_chunk_steps = 4});
  EXPECT_EQ(layered.crossings(plan, Lane::kH2d)[1], 1) << "the smaller one came back";
  const Outcome outcome = run(layered, plan, {.op = 20ms});
  EXPECT_TRUE(outcome.right);
  EXPECT_LE(outcome.counters.touched_bytes[index(Tier::kDevice)], budgets.device_bytes);
}

// docs/faults.md A2: with every fetch at the last moment, and stores late, each load still waits
// for the store of what it brings.
TEST(Layers, WaitForTheStoreOfWhatTheyLoadAtOnce) {
  const Layered layered({.layers = 6, .offloaded = 6});
  const Budgets budgets{layered.device_bytes(1), std::uint64_t{1} << 20, 0};
  const Plan plan =
      make_plan(layered.program, budgets, generic_cpu_hardware(), {.prefetch_chunk_steps = 0});
  EXPECT_GT(plan.tasks[index(Lane::kH2d)].size(), 3U);
  EXPECT_TRUE(run(layered, plan, {.d2h = 100ms}).right);
}

// docs/faults.md A5: two slots of the host arena take turns on the way from the disk. A slot is
// free when the copy out of it is done, not when it is asked for.
class TwoHostSlots : public testing::Test {
 protected:
  TwoHostSlots() {
    const std::uint64_t state = align_up(Layered::kStateBytes, kPageAlignment);
    const Budgets budgets{layered_.device_bytes(1), state + 2 * layered_.shape.size_bytes,
                          std::uint64_t{1} << 20};
    plan_ = make_plan(layered_.program, budgets, generic_cpu_hardware(), {});
  }

  const Layered layered_{{.layers = 6, .offloaded = 6, .reach = Reach::kNvme}};
  Plan plan_;
};

TEST_F(TwoHostSlots, AreRefilledWhenTheirCopyIsDone) {
  EXPECT_GT(plan_.tasks[index(Lane::kNvmeRead)].size(), 2U);
  EXPECT_TRUE(run(layered_, plan_, {.h2d = 100ms}).right);
}

TEST_F(TwoHostSlots, CannotDoWithoutTheWaitForTheCopy) {
  int taken_out = 0;
  for (const Task& task : plan_.tasks[index(Lane::kNvmeRead)]) {
    for (std::uint32_t i = 0; i < task.wait_count; ++i) {
      const Wait& wait = plan_.waits[task.waits_begin + i];
      if (static_cast<Lane>(wait.lane) != Lane::kH2d) continue;
      const Verdict verdict =
          verify(layered_.program, plan_test::without_wait(plan_, task.waits_begin + i));
      EXPECT_EQ(verdict.fault, PlanFault::kUnorderedReuse) << verdict.message;
      ++taken_out;
    }
  }
  EXPECT_GT(taken_out, 0);
}

// docs/faults.md B3: what is stored is what was to leave, each comes back once, and the device
// holds what the plan says.
TEST(Layers, StoreThoseThatWereToLeaveAndLoadEachOnce) {
  for (const auto& [layers, offloaded] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{
           {32, 5}, {7, 3}, {5, 5}, {1, 1}, {6, 0}}) {
    SCOPED_TRACE(std::to_string(offloaded) + " of " + std::to_string(layers));
    const Layered layered({.layers = layers, .offloaded = offloaded, .op_seconds = 1});
    const Budgets budgets{std::uint64_t{16} << 20, std::uint64_t{16} << 20, 0};
    const Plan plan = make_plan(layered.program, budgets, generic_cpu_hardware(), {});
    // The last layer's value is read by the next op: it could not be away and back.
    const std::uint32_t leave = std::min(offloaded, layers - 1);
    std::vector<int> expected(layers, 0);
    std::fill_n(expected.begin(), leave, 1);
    EXPECT_EQ(layered.crossings(plan, Lane::kD2h), expected);
    EXPECT_EQ(layered.crossings(plan, Lane::kH2d), expected);
    const Outcome outcome = run(layered, plan, {});
    EXPECT_TRUE(outcome.right);
    EXPECT_EQ(outcome.counters.touched_bytes[index(Tier::kDevice)],
              plan.span_bytes[index(Tier::kDevice)]);
    // ColossalAI#643: the saving is there, not only no error.
    const Layered kept({.layers = layers, .offloaded = 0});
    const Plan resident = make_plan(kept.program, budgets, generic_cpu_hardware(), {});
    const std::uint64_t all = resident.span_bytes[index(Tier::kDevice)];
    if (leave > 1) {
      EXPECT_LT(plan.span_bytes[index(Tier::kDevice)], all);
    } else {
      EXPECT_EQ(plan.span_bytes[index(Tier::kDevice)], all);
    }
  }
}

}  // namespace
}  // namespace ebbtide::test
