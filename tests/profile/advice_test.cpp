// Runs that are slow for one reason each: the verdict names it, and following the advice makes the
// step shorter. In virtual time.
#include <gtest/gtest.h>

#include <algorithm>

#include "ebbtide/error.hpp"
#include "src/profile/changes.hpp"
#include "src/profile/profile_text.hpp"
#include "tests/profile/simulated_profile.hpp"

namespace ebbtide::profile {
namespace {

using report::Cause;

struct SlowRun {
  train::TrainOptions options = demo_options();
  HardwareModel actual = generic_cpu_hardware();  // the machine, whatever plans think of it

  Profile profiled() const {
    Profile profile = simulated_profile(options, actual);
    advise(profile, options);
    return profile;
  }
  // The step of the run with these flags, on the same machine.
  double seconds_with(const Advice& advice, const Profile& profile) const {
    const std::vector<Change> changes =
        changes_against(advice.cause, options, profile.facts, profile.usable_threads);
    const auto change = std::ranges::find(changes, advice.flags, &Change::flags);
    if (change == changes.end()) return 1e9;
    HardwareModel machine = actual;
    if (change->machine) change->machine(machine);
    return simulated_profile(change->options, machine).measured.step_s;
  }
};

void expect_named_and_cured(const SlowRun& run, Cause cause, const std::string& flag) {
  const Profile profile = run.profiled();
  const std::string verdict = verdict_text(profile);
  EXPECT_EQ(profile.measured.main_cause(), cause) << name(profile.measured.main_cause()) << "\n"
                                                  << verdict << tables_text(profile);
  ASSERT_FALSE(profile.advice->empty()) << verdict << tables_text(profile);
  EXPECT_TRUE(std::ranges::any_of(
      *profile.advice, [&](const Advice& advice) { return advice.flags.starts_with(flag); }))
      << verdict << tables_text(profile);
  EXPECT_NE(verdict.find(profile.advice->front().flags), std::string::npos) << verdict;
  for (const Advice& advice : *profile.advice) {
    const double seconds = run.seconds_with(advice, profile);
    EXPECT_LT(seconds, 0.995 * profile.measured.step_s) << advice.flags;
    EXPECT_NEAR(seconds, advice.step_s, 0.1 * seconds) << advice.flags;
  }
}

// A link that a step's transfers keep half busy.
SlowRun over_a_slow_link() {
  SlowRun run;
  run.options.hardware->d2h.bytes_per_s = run.options.hardware->h2d.bytes_per_s = 4e8;
  run.actual = *run.options.hardware;
  return run;
}

TEST(Advice, AgainstAPrefetchOfNothing) {
  SlowRun run = over_a_slow_link();
  run.options.planning.prefetch_chunk_steps = 0;
  expect_named_and_cured(run, Cause::kLateIssue, "--prefetch-distance");
}

TEST(Advice, AgainstBucketsThatAreTooSmall) {
  SlowRun run;
  run.options.hardware->d2h.latency_s = run.options.hardware->h2d.latency_s = 2e-3;
  run.actual = *run.options.hardware;
  run.options.planning.bucket_bytes = 0;
  expect_named_and_cured(run, Cause::kSmallTransfers, "--transfer-bucket-size");
}

TEST(Advice, AgainstAHostBudgetThatIsTooSmall) {
  SlowRun run;
  run.options.memory.host_bytes = std::uint64_t{64} << 20;
  run.options.memory.nvme_paths = {"."};
  run.options.memory.nvme_bytes = std::uint64_t{1} << 30;
  run.options.hardware->nvme_read.bytes_per_s = run.options.hardware->nvme_write.bytes_per_s = 2e8;
  run.actual = *run.options.hardware;
  expect_named_and_cured(run, Cause::kDiskRate, "--host-memory");
}

TEST(Advice, AgainstADiskThatIsSlowerThanItsModel) {
  SlowRun run;
  run.options.memory.host_bytes = std::uint64_t{64} << 20;
  run.options.memory.nvme_paths = {"."};
  run.options.memory.nvme_bytes = std::uint64_t{1} << 30;
  run.actual.nvme_read.bytes_per_s = run.actual.nvme_write.bytes_per_s = 1e8;
  expect_named_and_cured(run, Cause::kDiskRate, "--host-memory");
}

TEST(Advice, AgainstAnOptimizerOnOneThread) {
  SlowRun run;
  run.actual.host_flops_per_s = 1e8;
  run.actual.host_memory_bytes_per_s = 5e8;
  expect_named_and_cured(run, Cause::kHostOptimizer, "--threads 2");
}

TEST(Advice, HasNoFlagAgainstSlowData) {
  const SlowRun run;
  Profile profile = simulated_profile(run.options, run.actual, 5);
  advise(profile, run.options);
  EXPECT_EQ(profile.measured.main_cause(), Cause::kData);
  const std::string verdict = verdict_text(profile);
  EXPECT_NE(verdict.find("reading data takes"), std::string::npos) << verdict;
  EXPECT_NE(verdict.find("--data"), std::string::npos) << verdict;
}

// The search plans under the budgets that the run had, whatever is free when it asks.
TEST(Advice, PlansUnderTheBudgetsOfTheRun) {
  SlowRun run = over_a_slow_link();
  run.options.planning.prefetch_chunk_steps = 0;
  const Profile with_given = run.profiled();
  Profile profile = simulated_profile(run.options, run.actual);
  run.options.memory.device_bytes.reset();
  run.options.memory.host_bytes.reset();
  advise(profile, run.options);
  ASSERT_TRUE(profile.advice);
  ASSERT_FALSE(profile.advice->empty());
  EXPECT_EQ(profile.advice->front().flags, with_given.advice->front().flags);
  EXPECT_EQ(profile.advice->front().step_s, with_given.advice->front().step_s);
}

TEST(Advice, IsNoneWhereTheSearchWasCutShort) {
  SlowRun run = over_a_slow_link();
  run.options.planning.prefetch_chunk_steps = 0;
  Profile profile = simulated_profile(run.options, run.actual);
  int plans = 0;
  const auto stop = [&plans](const std::string&) {
    if (++plans == 3) throw Error(Errc::kCancelled, "stopped");
  };
  EXPECT_THROW(advise(profile, run.options, stop), Error);
  EXPECT_FALSE(profile.advice);
  EXPECT_EQ(verdict_text(profile).find("no change of a flag"), std::string::npos);
}

TEST(Advice, IsSilentWhereNothingStandsStill) {
  SlowRun run;
  run.options.planning.activations = model::ActivationMode::kKeep;
  run.options.memory.device_bytes = std::uint64_t{512} << 20;
  run.options.memory.parameter_tier = run.options.memory.gradient_tier = Tier::kDevice;
  Profile profile = run.profiled();
  EXPECT_TRUE(profile.advice->empty()) << tables_text(profile);
}

}  // namespace
}  // namespace ebbtide::profile
