// What a profile sums up, and how it is told.
#include "src/profile/profile.hpp"

#include <gtest/gtest.h>

#include "src/profile/changes.hpp"
#include "src/profile/profile_json.hpp"
#include "src/profile/profile_text.hpp"
#include "tests/profile/simulated_profile.hpp"

namespace ebbtide::profile {
namespace {

TEST(AsMeasured, IsTheModelThatTheMachineRanBy) {
  HardwareModel actual = generic_cpu_hardware();
  actual.h2d.bytes_per_s = 1e9;  // a sixth
  actual.device_flops_per_s /= 2;
  actual.device_memory_bytes_per_s /= 2;
  actual.op_overhead_s *= 2;
  const Profile profile = simulated_profile(demo_options(), actual);
  const HardwareModel& found = profile.as_measured;
  EXPECT_NEAR(found.device_flops_per_s, actual.device_flops_per_s, 1e-6 * 1e11);
  EXPECT_NEAR(found.d2h.bytes_per_s, actual.d2h.bytes_per_s, 1e-6 * 6e9);
  EXPECT_NEAR(found.h2d.bytes_per_s, actual.h2d.bytes_per_s, 0.02e9);
  EXPECT_EQ(found.h2d.latency_s, actual.h2d.latency_s);
  EXPECT_GT(profile.measured.step_s, profile.predicted.step_s);
}

TEST(StepSummary, WantsTheStepsAfterTheFirstOnes) {
  const StepSummary summary(2, generic_cpu_hardware());
  EXPECT_FALSE(summary.wants_record(2));
  EXPECT_TRUE(summary.wants_record(3));
}

TEST(StepSummary, IsTheMeanOfItsSteps) {
  const Profile fast = simulated_profile(demo_options(), generic_cpu_hardware());
  const Profile slow = simulated_profile(demo_options(), generic_cpu_hardware(), 1);
  const Profile both = simulated_profile(demo_options(), generic_cpu_hardware(), {0, 1});
  EXPECT_EQ(both.steps, 2);
  EXPECT_NEAR(fast.measured.step_s, fast.predicted.step_s, 1e-12);
  EXPECT_NEAR(slow.measured.step_s, fast.measured.step_s + 1, 1e-12);
  EXPECT_NEAR(both.measured.step_s, fast.measured.step_s + 0.5, 1e-12);
  EXPECT_NEAR(both.measured.causes[index(report::Cause::kData)], 0.5, 1e-12);
  EXPECT_NEAR(both.predicted.step_s, fast.predicted.step_s, 1e-12);
}

TEST(ProfileJson, AddsUpLikeTheTables) {
  const Profile profile = simulated_profile(demo_options(), generic_cpu_hardware(), 0.5);
  const nlohmann::ordered_json object = to_json(profile);
  double still_s = 0;
  for (const auto& [cause, seconds] : object["still_seconds"].items())
    still_s += seconds.get<double>();
  const double busy_s = object["lanes"]["compute"]["busy_seconds"];
  EXPECT_NEAR(still_s + busy_s, object["step_seconds"].get<double>(), 1e-9);
  EXPECT_DOUBLE_EQ(object["still_seconds"]["data"], 0.5);
  EXPECT_EQ(object["predicted"]["still_seconds"]["data"], 0);
  EXPECT_EQ(object["verdict"], verdict_text(profile));
  for (const auto& [lane, time] : object["lanes"].items())
    EXPECT_NEAR(time["hidden_seconds"].get<double>() + time["exposed_seconds"].get<double>() +
                    time["idle_seconds"].get<double>(),
                object["step_seconds"].get<double>(), 1e-9)
        << lane;
}

TEST(Changes, StateHowMuchMoreMemoryTheyAskFor) {
  const train::TrainOptions options = demo_options();
  const Profile profile = simulated_profile(options, generic_cpu_hardware());
  const std::vector<Change> changes =
      changes_against(report::Cause::kHostRoom, options, profile.facts, 2);
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes.front().flags, "--host-memory 288MiB");
  EXPECT_EQ(changes.front().why, "give 32.0 MiB more host memory");
  EXPECT_EQ(changes.front().options.memory.host_bytes, std::uint64_t{288} << 20);
}

TEST(Changes, LeaveABudgetAloneThatIsAllThereIs) {
  train::TrainOptions options = demo_options();
  options.memory.host_bytes.reset();
  EXPECT_TRUE(changes_against(report::Cause::kHostRoom, options, {}, 2).empty());
}

TEST(Changes, OnlyLengthenThePrefetchThatIsGiven) {
  train::TrainOptions options = demo_options();
  options.planning.prefetch_chunk_steps = 4;
  const std::vector<Change> changes = changes_against(report::Cause::kLateIssue, options, {}, 2);
  ASSERT_EQ(changes.size(), 4U);
  EXPECT_EQ(changes[0].flags, "--prefetch-distance 8");
  EXPECT_EQ(changes[3].flags, "--prefetch-distance auto");
}

}  // namespace
}  // namespace ebbtide::profile
