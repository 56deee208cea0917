// Random programs, planned with little memory, through the real engine with all its tiers: every
// home must end bit-equal to the program run in order with everything resident.
#include <gtest/gtest.h>

#include <mutex>
#include <random>

#include "ebbtide/error.hpp"
#include "tests/execute/engine_under_test.hpp"
#include "tests/execute/mixing_program.hpp"
#include "tests/plan/random_program.hpp"
#include "tiering/execute/seams.hpp"

namespace ebbtide::test {
namespace {

// Sleeps now and then, for a time that a seed chooses, on whatever thread asks.
class RandomDelays final : public tiers::IoFaults {
 public:
  explicit RandomDelays(std::uint64_t seed) : engine_(seed) {}

  void sleep() { std::this_thread::sleep_for(next()); }
  tiers::IoFault on_transfer(const tiers::KernelTransfer&) override { return {.delay = next()}; }

 private:
  std::chrono::microseconds next() {
    const std::scoped_lock lock(mutex_);
    const bool sleeps = engine_() % 4 == 0;
    return std::chrono::microseconds(sleeps ? engine_() % 1000 : 0);
  }

  std::mutex mutex_;
  std::mt19937_64 engine_;
};

std::uint64_t all_values(const Program& program, Tier tier) {
  std::uint64_t bytes = program.home_bytes()[index(tier)];
  for (ValueId id = 0; id < program.value_count(); ++id)
    bytes += extent(program.value(id).size_bytes, tier);
  return bytes;
}

// A host arena as small as plans, by halves of what would hold everything.
Plan plan_tightly(const Program& program, double device_room, const PlanOptions& options) {
  const auto device_bytes = static_cast<std::uint64_t>(
      static_cast<double>(smallest_device_budget(program)) * device_room);
  Budgets budgets{align_up(device_bytes, kDeviceAlignment), all_values(program, Tier::kHost),
                  all_values(program, Tier::kNvme)};
  Plan plan = make_plan(program, budgets, generic_cpu_hardware(), options);
  for (std::uint64_t share = 2; share <= 16; share *= 2) {
    budgets.host_bytes = program.home_bytes()[index(Tier::kHost)] +
                         align_up(all_values(program, Tier::kHost) / share, kPageAlignment);
    try {
      plan = make_plan(program, budgets, generic_cpu_hardware(), options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), make_error_code(Errc::kDoesNotFit)) << error.what();
      break;
    }
  }
  return plan;
}

PlanOptions options_of(std::uint64_t seed) {
  PlanOptions options;
  options.bucket_bytes = seed % 3 == 0 ? 0 : std::uint64_t{16} << (seed % 3 * 6);
  options.nvme_width = 1 + static_cast<std::uint32_t>(seed % 5) * 3;
  if (seed % 4 < 3) options.prefetch_chunk_steps = static_cast<std::uint32_t>(seed % 4);
  return options;
}

class RandomPrograms : public testing::TestWithParam<std::uint64_t> {
 protected:
  static constexpr std::uint64_t kSeedsACase = 4;
  static constexpr int kSteps = 2;

  void run(std::uint64_t seed) {
    RandomDelays delays(seed);
    const Program planned = plan_test::random_program(seed);
    const Program program = with_mixing_ops(planned, [&](OpId) { delays.sleep(); });
    const Plan plan = plan_tightly(program, 1.0 + 0.25 * (seed % 3), options_of(seed));
    const Verdict verdict = verify(program, plan);
    ASSERT_TRUE(verdict.ok()) << "seed " << seed << ": " << verdict.message;
    std::vector<Bytes> expected = random_homes(program, seed);
    EngineSeams seams;
    seams.io_faults = &delays;
    Engine engine(slow_device(plan.budgets.device_bytes, [&](Lane) { delays.sleep(); }),
                  options(seed, plan, seams));
    std::vector<Bytes> got = expected;
    for (int step = 0; step < kSteps; ++step) {
      got = run_on(engine, program, plan, got);
      expected = run_in_order(with_mixing_ops(planned), std::move(expected));
      ASSERT_EQ(got, expected) << "seed " << seed << ", step " << step;
    }
    for (std::size_t lane = 0; lane < kLaneCount; ++lane)
      moved_bytes_[lane] += engine.counters().moved_bytes[lane];
    poisoned_bytes_ += engine.counters().poisoned_bytes;
    checked_bytes_ += engine.counters().checked_bytes;
    expect_touched_as_planned(engine, program, plan, seed);
  }

  static EngineOptions options(std::uint64_t seed, const Plan& plan, const EngineSeams& seams) {
    EngineOptions options;
    options.host_bytes = plan.budgets.host_bytes;
    options.nvme_bytes = std::max(plan.budgets.nvme_bytes, kPageAlignment);
    options.nvme_paths = {disk_directory(), disk_directory()};
    options.io_engine = seed % 2 == 0 ? IoEngine::kAuto : IoEngine::kThreads;
    options.io_block_bytes = std::uint64_t{16} << 10;
    options.offload_check = OffloadCheck::kChecksum;
    options.freed_blocks = FreedBlocks::kPoison;
    options.seams = &seams;
    return options;
  }

  // The highest place touched is the last one that the plan counts, unless homes that this step
  // leaves alone lie above.
  static void expect_touched_as_planned(const Engine& engine, const Program& program,
                                        const Plan& plan, std::uint64_t seed) {
    for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
      const std::uint64_t touched = engine.counters().touched_bytes[index(tier)];
      EXPECT_EQ(std::max(touched, program.home_bytes()[index(tier)]), plan.span_bytes[index(tier)])
          << "seed " << seed << " " << name(tier);
    }
  }

  PerLane<std::uint64_t> moved_bytes_{};
  std::uint64_t poisoned_bytes_ = 0;
  std::uint64_t checked_bytes_ = 0;
};

TEST_P(RandomPrograms, EndBitEqualToTheSameOpsInOrder) {
  for (std::uint64_t i = 0; i < kSeedsACase; ++i) {
    run(GetParam() * kSeedsACase + i);
    if (HasFatalFailure()) return;
  }
  for (const Lane lane : {Lane::kD2h, Lane::kH2d, Lane::kNvmeWrite, Lane::kNvmeRead})
    EXPECT_GT(moved_bytes_[index(lane)], 0U) << name(lane) << " had nothing to do";
  EXPECT_GT(poisoned_bytes_, 0U);
  EXPECT_GT(checked_bytes_, 0U);
}

INSTANTIATE_TEST_SUITE_P(BySeed, RandomPrograms, testing::Range<std::uint64_t>(0, 6));

}  // namespace
}  // namespace ebbtide::test
