// `ebbtide profile`: what it prints for people and for programs, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/train_command.hpp"

namespace ebbtide::test {
namespace {

using nlohmann::json;

class ProfileCommand : public TrainCommand {
 protected:
  // As `train` with the small model, but for its steps.
  Arguments profile(const Arguments& more) const {
    Arguments arguments = train({});
    arguments.front() = "profile";
    const auto steps = std::find(arguments.begin(), arguments.end(), "--steps");
    arguments.erase(steps, steps + 2);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

TEST_F(ProfileCommand, PrintsAVerdictFirstAndThenTables) {
  const Outcome outcome = run(profile({"--skip-first", "1", "--active-steps", "2"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("a step takes ")) << outcome.out;
  for (const char* text : {"compute is at work", "mean of 2 steps, predicted", "lane", "hidden",
                           "compute stood still because", "in all", "before ops of layer"})
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text << " in " << outcome.out;
}

TEST_F(ProfileCommand, PrintsOneObjectWhoseSumsHold) {
  const Outcome outcome = run(profile({"--json", "--active-steps", "1", "--no-advice"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json object = json::parse(outcome.out);
  EXPECT_EQ(object["steps"], 1);
  double still_s = 0;
  for (const json& seconds : object["still_seconds"]) still_s += seconds.get<double>();
  const double step_s = object["step_seconds"];
  EXPECT_NEAR(object["lanes"]["compute"]["busy_seconds"].get<double>() + still_s, step_s, 1e-9);
  for (const auto& [lane, time] : object["lanes"].items())
    EXPECT_NEAR(time["hidden_seconds"].get<double>() + time["exposed_seconds"].get<double>() +
                    time["idle_seconds"].get<double>(),
                step_s, 1e-9)
        << lane;
  EXPECT_GT(object["predicted"]["step_seconds"], 0);
  EXPECT_TRUE(object["advice"].empty());
}

TEST_F(ProfileCommand, RefusesFlagsThatItWouldIgnore) {
  for (const char* flag : {"--steps", "--eval-every", "--eval-data"})
    expect_refused(profile({flag, "1"}), {flag, "--active-steps"});
  for (const char* flag :
       {"--log-json", "--trace", "--report", "--save", "--save-every", "--keep", "--resume"})
    expect_refused(profile({flag, "1"}), {flag, "ebbtide train"});
  expect_refused(profile({"--dry-run"}), {"--dry-run", "ebbtide train"});
  expect_refused(profile({"--active-steps", "0"}), {"--active-steps '0'", "at least 1"});
  expect_refused(profile({"--skip-first", "-1"}), {"--skip-first"});
  expect_refused(profile({"--hardware", "abacus"}), {"--hardware", "abacus"});
  expect_refused(set(profile({}), "--device-memory", "1KiB"), {"--device-memory", "would fit"});
}

}  // namespace
}  // namespace ebbtide::test
