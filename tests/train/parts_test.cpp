// Budgets, placements, policies and drive wear: pure functions of what is asked and there.
#include <gtest/gtest.h>

#include <filesystem>

#include "ebbtide/error.hpp"
#include "src/train/budgets.hpp"
#include "src/train/choose_plans.hpp"
#include "src/train/placement.hpp"
#include "src/train/resolve_options.hpp"
#include "src/train/run_facts.hpp"
#include "src/train/wear.hpp"
#include "src/train/weight_source.hpp"
#include "tests/temporary_directory.hpp"

namespace ebbtide::train {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
MachineLimits limits() {
  return {16 * kGiB, "the machine", 100 * kGiB};
}

TEST(Budgets, ShareWhatTheMachineHasLessAMargin) {
  const Budgets budgets = resolve_budgets({}, limits());
  EXPECT_EQ(budgets.device_bytes, 15 * kGiB / 2);
  EXPECT_EQ(budgets.host_bytes, 15 * kGiB / 2);
  EXPECT_EQ(budgets.nvme_bytes, 0U);
}

TEST(Budgets, GiveTheRestToTheOneThatIsNotGiven) {
  MemoryOptions options;
  options.device_bytes = kGiB;
  EXPECT_EQ(resolve_budgets(options, limits()).host_bytes, 14 * kGiB);
  options = {};
  options.host_bytes = 4 * kGiB;
  EXPECT_EQ(resolve_budgets(options, limits()).device_bytes, 11 * kGiB);
}

TEST(Budgets, TakeTheFreeDiskLessATwentieth) {
  MemoryOptions options;
  options.nvme_paths = {"/somewhere"};
  EXPECT_EQ(resolve_budgets(options, limits()).nvme_bytes, 95 * kGiB);
  options.nvme_bytes = 3 * kGiB;
  EXPECT_EQ(resolve_budgets(options, limits()).nvme_bytes, 3 * kGiB);
}

std::string refusal(const MemoryOptions& options) {
  try {
    resolve_budgets(options, limits());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::kDoesNotFit));
    return error.what();
  }
  return "accepted";
}

TEST(Budgets, AreRefusedWithFlagNeedAndHaveWhereTheyExceedTheMachine) {
  MemoryOptions options;
  options.device_bytes = 10 * kGiB;
  options.host_bytes = 6 * kGiB - (kGiB >> 5);
  EXPECT_EQ(refusal(options), "accepted");
  ++*options.host_bytes;
  const std::string text = refusal(options);
  EXPECT_NE(text.find("--device-memory 10737418240 and --host-memory 6408896513 need 17146314753"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("at most 17146314752 fit"), std::string::npos) << text;
  // the other one is to have what is left: the margin is larger
  options.host_bytes.reset();
  options.device_bytes = 15 * kGiB + 1;
  EXPECT_NE(refusal(options).find("at most 16106127360 fit"), std::string::npos);
}

TEST(Budgets, AreRefusedWhereTheDiskHasLess) {
  MemoryOptions options;
  options.nvme_paths = {"/somewhere"};
  options.nvme_bytes = 100 * kGiB + 1;
  EXPECT_NE(refusal(options).find("--nvme-memory 107374182401"), std::string::npos);
}

TEST(Placement, GoesFromTheDeviceToTheHostToNvme) {
  const auto placements = placements_to_try({});
  ASSERT_EQ(placements.size(), 20U);
  EXPECT_EQ(placements.front().parameters, Tier::kDevice);
  EXPECT_EQ(placements.front().optimizer, Tier::kHost);
  EXPECT_EQ(placements[1].parameters, Tier::kHost);
  EXPECT_EQ(placements[2].optimizer, model::StateTier(Tier::kHost, 0.0625));
  EXPECT_EQ(placements[16].optimizer, model::StateTier(Tier::kHost, 0.9375));
  EXPECT_EQ(placements[17].optimizer, Tier::kNvme);
  EXPECT_EQ(placements[17].gradients, Tier::kHost);
  EXPECT_EQ(placements.back().parameters, Tier::kNvme);
}

std::vector<Placed> possible_of_demo() {
  TrainOptions options;
  const model::ModelConfig config = model::preset("demo");
  return possible_placements(config, resolve_shape(config, options), options.memory);
}

TEST(Placement, LeavesOnTheHostWhatFitsThere) {
  const std::vector<Placed> possible = possible_of_demo();
  const Budgets all{kNoLimit, possible[1].need(Tier::kHost), kNoLimit};
  const auto with_all = placements_that_fit(possible, all);
  EXPECT_EQ(with_all[1].optimizer, Tier::kHost);
  Budgets less = all;
  less.host_bytes -= 1;
  const auto with_less = placements_that_fit(possible, less);
  ASSERT_GE(with_less.size(), 2U);
  EXPECT_EQ(with_less[1].optimizer, model::StateTier(Tier::kHost, 0.0625));
}

TEST(Placement, TriesTwoThatDifferInWhatIsOnNvmeAlone) {
  const auto fitting = placements_that_fit(possible_of_demo(), {kNoLimit, kNoLimit, kNoLimit});
  // device; host; a sixteenth of the optimizer state on NVMe, all of it; gradients; weights
  EXPECT_EQ(fitting.size(), 6U);
}

TEST(Placement, PutsNoMoreOnNvmeThanItsFractionAndSpreadsIt) {
  const model::ModelConfig config = model::preset("demo");
  const model::StepShape shape = resolve_shape(config, TrainOptions{});
  for (const double fraction : {0.0625, 0.5, 0.9375}) {
    const model::ModelHomes homes = model::lay_out_homes(
        config, shape, {Tier::kHost, Tier::kHost, model::StateTier(Tier::kHost, fraction)});
    double all = 0;
    double largest = 0;
    double on_nvme = 0;
    for (const model::ParameterHomes& parameter : homes.parameters) {
      const auto bytes = static_cast<double>(parameter.m.size_bytes);
      all += bytes;
      largest = std::max(largest, bytes);
      if (parameter.m.tier == Tier::kNvme) on_nvme += bytes;
      EXPECT_EQ(parameter.m.tier, parameter.v.tier);
      // at every point of the model
      EXPECT_LE(on_nvme, fraction * all);
      EXPECT_GT(on_nvme, fraction * all - largest);
    }
  }
}

TEST(Placement, KeepsTiersThatAreGiven) {
  MemoryOptions options;
  options.parameter_tier = Tier::kHost;
  options.gradient_tier = Tier::kNvme;
  options.optimizer_tier = Tier::kDevice;
  const auto placements = placements_to_try(options);
  ASSERT_EQ(placements.size(), 1U);
  EXPECT_EQ(placements[0].parameters, Tier::kHost);
  EXPECT_EQ(placements[0].gradients, Tier::kNvme);
  EXPECT_EQ(placements[0].optimizer, Tier::kDevice);
}

TEST(Policies, KeepThenOffloadThenRecomputeMoreAndMore) {
  const auto policies = policies_to_try({});
  ASSERT_EQ(policies.size(), 5U);
  EXPECT_EQ(policies.front().mode, model::ActivationMode::kAuto);
  EXPECT_EQ(policies.front().saved_fraction, 1.0);
  EXPECT_EQ(policies.back().saved_fraction, 0.0);
}

TEST(Policies, AreTakenAsGiven) {
  PlanningOptions options;
  options.activations = model::ActivationMode::kOffload;
  options.saved_fraction = 0.25;
  options.activation_reach = Reach::kHost;
  const auto policies = policies_to_try(options);
  ASSERT_EQ(policies.size(), 1U);
  EXPECT_EQ(policies[0].mode, model::ActivationMode::kOffload);
  EXPECT_EQ(policies[0].saved_fraction, 0.25);
  EXPECT_EQ(policies[0].reach, Reach::kHost);
}

// Whoever stands where the demo left its files.
TEST(Model, NamesABuiltInShapeAlsoBesideADirectoryOfThatName) {
  const test::TemporaryDirectory directory;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directory(directory.path() / "demo");
  std::filesystem::current_path(directory.path());
  TrainOptions options;
  options.model = "demo";
  EXPECT_FALSE(model_directory(options).has_value());
  EXPECT_EQ(load_config(options).layers, 4);
  options.model = "./demo";
  EXPECT_EQ(model_directory(options), std::filesystem::path("./demo"));
  EXPECT_THROW(load_config(options), Error);  // there is no config.json in it
  std::filesystem::current_path(before);
}

// 1 TB at 600 bytes written a byte is 6e14; a year of 1 GB/s is 3.2e16.
TEST(DriveWear, IsWarnedOfWhenADriveLastsLessThanAYear) {
  DriveWear wear{.bytes_a_step = 1'000'000'000,
                 .step_seconds = 1,
                 .capacity_bytes = 1'000'000'000'000,
                 .endurance_bytes = 0};
  const auto warning = wear_warning(wear);
  ASSERT_TRUE(warning.has_value());
  EXPECT_NE(warning->find("assumed"), std::string::npos);
  EXPECT_NE(warning->find("lasts 7 days"), std::string::npos) << *warning;
  wear.endurance_bytes = 3.2e16;
  EXPECT_FALSE(wear_warning(wear).has_value());
  wear.endurance_bytes = 0;
  wear.step_seconds = 60;
  EXPECT_FALSE(wear_warning(wear).has_value());
  wear = {.bytes_a_step = 0, .step_seconds = 1, .capacity_bytes = 1};
  EXPECT_FALSE(wear_warning(wear).has_value());
}

}  // namespace
}  // namespace ebbtide::train
