// What the planner makes of random programs with little room: the verifier takes it, it runs right
// in every order, and it waits for hardly anything without need.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ebbtide/error.hpp"
#include "tests/plan/plan_builder.hpp"
#include "tests/plan/trial.hpp"

namespace ebbtide::plan_test {
namespace {

std::uint64_t all_values(const Program& program, Tier tier) {
  std::uint64_t sum = program.home_bytes()[index(tier)];
  for (ValueId value = 0; value < program.value_count(); ++value)
    sum += extent(program.value(value).size_bytes, tier);
  return sum;
}

PlanOptions random_options(Dice& dice) {
  constexpr std::uint64_t kBuckets[] = {0, 4096, 65536, std::uint64_t{64} << 20};
  PlanOptions options;
  options.bucket_bytes = kBuckets[dice.between(0, 3)];
  options.nvme_width = 1U << dice.between(0, 5);
  if (dice.chance(0.5)) {
    options.prefetch_chunk_steps = static_cast<std::uint32_t>(dice.between(0, 4));
  } else {
    options.prefetch_seconds = static_cast<double>(dice.between(0, 40)) * 1e-3;
  }
  return options;
}

// The device gets `slack` times the smallest budget; the host a random share of all values, but
// what the planner says it needs at least.
struct Planned {
  Program program;
  Plan plan;

  Planned(std::uint64_t seed, double slack, const RandomShape& shape = {},
          std::optional<std::uint32_t> prefetch_chunk_steps = {})
      : program(random_program(seed, shape)) {
    Dice dice(seed);
    PlanOptions options = random_options(dice);
    if (prefetch_chunk_steps) options.prefetch_chunk_steps = prefetch_chunk_steps;
    const auto smallest = static_cast<double>(smallest_device_budget(program));
    const std::uint64_t host_all = 2 * all_values(program, Tier::kHost);
    Budgets budgets{static_cast<std::uint64_t>(slack * smallest), 0,
                    2 * all_values(program, Tier::kNvme)};
    const std::uint64_t least = std::max(program.home_bytes()[index(Tier::kHost)],
                                         largest_operand_sum(program, Tier::kHost));
    budgets.host_bytes = least + dice.between(0, (host_all - least) / 4);
    for (;; budgets.host_bytes = std::min(host_all, budgets.host_bytes * 5 / 4)) {
      try {
        plan = make_plan(program, budgets, generic_cpu_hardware(), options);
        return;
      } catch (const Error&) {
        if (budgets.host_bytes >= host_all) throw;
      }
    }
  }
};

constexpr std::uint32_t kUnlimitedPrefetch = 1U << 20;

double slack_of(std::uint64_t seed) {
  return 1 + static_cast<double>(seed % 11) * 0.05;
}

int seed_count() {
  const char* wanted = std::getenv("EBBTIDE_RANDOM_PROGRAMS");
  return wanted == nullptr ? 1000 : std::atoi(wanted);
}

TEST(PlannerOnRandomPrograms, MakesPlansThatVerify) {
  const int seeds = seed_count();
  int moving = 0, through_disk = 0, collective = 0;
  for (int i = 0; i < seeds; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    const Planned made(seed, slack_of(seed));
    const Verdict verdict = verify(made.program, made.plan);
    ASSERT_TRUE(verdict.ok()) << "seed " << seed << ": " << name(verdict.fault) << ": "
                              << verdict.message;
    moving += made.plan.moved_bytes[index(Lane::kH2d)] > 0;
    through_disk += made.plan.moved_bytes[index(Lane::kNvmeRead)] > 0;
    collective += !made.plan.tasks[index(Lane::kComm)].empty();
  }
  EXPECT_GE(moving, seeds * 8 / 10);
  EXPECT_GE(through_disk, seeds / 4);
  EXPECT_GE(collective, seeds * 9 / 10);
}

// Device ops of a second each with a gather of two seconds between them.
struct Gathers {
  Program program;
  HardwareModel hardware;

  // Op 0 makes x and op 1 reads it; the gather stands between them, and op 3 reads what it made.
  Gathers() {
    const KindId kind = program.add_kind({"value", "values", {}});
    const KernelId mix = program.add_kernel({.name = "mix", .place = Place::kDevice, .run = {}});
    const KernelId gather =
        program.add_kernel({.name = "gather", .place = Place::kComm, .run = {}});
    const Home home = layout_.add(256, Tier::kDevice);
    program.set_home_bytes(layout_.bytes());
    const ValueId shard = program.add_value({.kind = kind}, home);
    const ValueId x = program.add_value({.size_bytes = 512, .kind = kind});
    const ValueId full = program.add_value({.size_bytes = 512, .kind = kind});
    const ValueId y = program.add_value({.size_bytes = 512, .kind = kind});
    const OpCost second{.flops = 100};
    program.add_op(mix, {write(x)}, 0, second);
    program.add_op(gather, {read(shard), write(full)}, 0, {.sent_bytes = 200});
    program.add_op(mix, {read(x), write(y)}, 0, second);
    program.add_op(mix, {read(full), update(y)}, 0, second);
    hardware = generic_cpu_hardware();
    hardware.device_flops_per_s = 100;
    hardware.op_overhead_s = 0;
    hardware.collective = {100, 0};
  }
  Plan plan(std::uint64_t device_bytes) const {
    return make_plan(program, {device_bytes, kPageAlignment * 8, 0}, hardware, {});
  }

 private:
  HomeLayout layout_;
};

TEST(PlannerOfCollectives, LetsThemRunAheadWhereTheyHaveRoom) {
  const Gathers gathers;
  const Plan plan = gathers.plan(256 + 3 * 512);
  ASSERT_TRUE(verify(gathers.program, plan).ok());
  const std::vector<Task>& comm = plan.tasks[index(Lane::kComm)];
  ASSERT_EQ(comm.size(), 1U);
  EXPECT_EQ(comm[0].wait_count, 0);
  const std::vector<Task>& compute = plan.tasks[index(Lane::kCompute)];
  EXPECT_EQ(compute[1].wait_count, 0);  // beside the gather
  EXPECT_EQ(compute[2].wait_count, 1);
  EXPECT_NEAR(plan.expected_seconds, 3, 1e-6);
}

// x and y and the gathered value do not fit together: somebody has to leave and make room, and
// whoever takes its place waits.
TEST(PlannerOfCollectives, MakesThemWaitForTheRoomOfOthers) {
  const Gathers gathers;
  const std::uint64_t smallest = smallest_device_budget(gathers.program);
  EXPECT_EQ(smallest, 256 + 2 * 512U);
  const Plan plan = gathers.plan(smallest);
  const Verdict verdict = verify(gathers.program, plan);
  ASSERT_TRUE(verdict.ok()) << verdict.message;
  for (std::size_t wait = 0; wait < plan.waits.size(); ++wait)
    EXPECT_FALSE(verify(gathers.program, without_wait(plan, wait)).ok())
        << describe_wait(plan, wait);
  EXPECT_GT(plan.expected_seconds, 3);
}

TEST(PlannerOnRandomPrograms, MakesPlansThatAreRightInEveryOrder) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Planned made(seed, slack_of(seed),
                       {.ops_min = 20, .ops_max = 80, .size_max_bytes = 16384});
    const Trial trial(made.program, made.plan, seed);
    ASSERT_EQ(trial.wrong_orders(made.plan, 20), 0) << "seed " << seed;
  }
}

// With loads issued as soon as there is room, so that no wait is there to hold one back.
TEST(PlannerOnRandomPrograms, WaitsForNothingWithoutNeed) {
  std::size_t waits = 0;
  std::vector<std::string> idle;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Planned made(seed, slack_of(seed), {.ops_min = 20, .ops_max = 60}, kUnlimitedPrefetch);
    waits += made.plan.waits.size();
    for (std::size_t wait = 0; wait < made.plan.waits.size(); ++wait)
      if (verify(made.program, without_wait(made.plan, wait)).ok())
        idle.push_back("seed " + std::to_string(seed) + ": " + describe_wait(made.plan, wait));
  }
  EXPECT_TRUE(idle.empty()) << ::testing::PrintToString(idle) << " of " << waits;
}

TEST(PlannerOnRandomPrograms, MakesPlansWhoseMutationsAreRejectedOrRight) {
  const int count = mutation_count(1000);
  Tally tally;
  for (std::uint64_t seed = 0; tally.tried < count && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Planned made(seed, slack_of(seed), {.ops_min = 8, .ops_max = 25, .size_max_bytes = 600});
    Dice dice(seed);
    try_mutations(Trial(std::move(made.program), std::move(made.plan), seed), 50, dice, tally);
  }
  RecordProperty("accepted", tally.accepted);
  EXPECT_GE(tally.accepted, count / 100);
  EXPECT_LE(tally.accepted, count / 2);
  EXPECT_GE(tally.races_shown, tally.races / 2);
}

template <typename T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}
bool same_segments(const std::vector<Segment>& a, const std::vector<Segment>& b) {
  return std::ranges::equal(a, b, [](const Segment& x, const Segment& y) {
    return x.from == y.from && x.to == y.to && x.value == y.value;
  });
}

TEST(PlannerOnRandomPrograms, MakesTheSamePlanTwice) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Planned one(seed, slack_of(seed)), two(seed, slack_of(seed));
    for (std::size_t lane = 0; lane < kLaneCount; ++lane)
      ASSERT_TRUE(same_bytes(one.plan.tasks[lane], two.plan.tasks[lane])) << "seed " << seed;
    ASSERT_TRUE(same_bytes(one.plan.waits, two.plan.waits)) << "seed " << seed;
    ASSERT_TRUE(same_segments(one.plan.segments, two.plan.segments)) << "seed " << seed;
    ASSERT_TRUE(same_bytes(one.plan.operand_units, two.plan.operand_units)) << "seed " << seed;
  }
}

TEST(PlannerOnRandomPrograms, StatesTheBytesThatTravel) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Planned made(seed, slack_of(seed));
    for (const Lane lane : {Lane::kD2h, Lane::kH2d, Lane::kNvmeWrite, Lane::kNvmeRead}) {
      std::uint64_t bytes = 0;
      for (const Task& task : made.plan.tasks[index(lane)])
        for (const Segment& segment : made.plan.segments_of(task))
          bytes += made.program.value(segment.value).size_bytes;
      ASSERT_EQ(made.plan.moved_bytes[index(lane)], bytes) << name(lane) << ", seed " << seed;
    }
  }
}

TEST(PlannerOnRandomPrograms, KeepsValuesWithinTheirReach) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Planned made(seed, slack_of(seed));
    for (const Lane lane : {Lane::kD2h, Lane::kNvmeWrite})
      for (const Task& task : made.plan.tasks[index(lane)])
        for (const Segment& segment : made.plan.segments_of(task)) {
          const Reach reach = made.program.value(segment.value).reach;
          ASSERT_NE(reach, Reach::kDevice) << "seed " << seed;
          ASSERT_FALSE(lane == Lane::kNvmeWrite && reach == Reach::kHost) << "seed " << seed;
        }
  }
}

}  // namespace
}  // namespace ebbtide::plan_test
