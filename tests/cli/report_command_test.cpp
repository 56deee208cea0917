// `--report`: the page of a run and of a plan, and where none can be written.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/train_command.hpp"

namespace ebbtide::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class ReportCommand : public TrainCommand {
 protected:
  Arguments plan(const Arguments& more) const {
    Arguments arguments{"plan",           "--model", directory_ / "model", "--seq-len", "512",
                        "--chunk-tokens", "64",      "--hardware",         "rtx4090"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::string page() const { return directory_ / "report.html"; }
  // The data in the page, which has to be whole.
  json data() const {
    const std::string html = text_of(page());
    EXPECT_TRUE(html.ends_with("</html>\n")) << html.size() << " bytes";
    const std::string begin = "id=\"data\">";
    const std::size_t at = html.find(begin) + begin.size();
    return json::parse(html.substr(at, html.find("</script>", at) - at));
  }
  static json setting(const json& data, const std::string& name) {
    for (const json& one : data["settings"])
      if (one["name"] == name) return one;
    return {};
  }
};

TEST_F(ReportCommand, ShowsARunBesideItsPrediction) {
  const Logged run = logged(tiered({"--report", page()}));
  const json shown = data();
  ASSERT_EQ(run.steps.size(), 3U);
  EXPECT_EQ(shown["ending"], "");
  EXPECT_EQ(shown["command"], "ebbtide train");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(shown["history"]["loss"][i], run.steps[i]["loss"]);
    EXPECT_EQ(shown["history"]["step_seconds"][i], run.steps[i]["step_seconds"]);
  }
  // The first step warms up: one of the others is shown.
  const auto step = shown["measured"]["step"].get<std::size_t>();
  ASSERT_TRUE(step == 2 || step == 3) << step;
  EXPECT_EQ(shown["measured"]["step_seconds"], run.steps[step - 1]["step_seconds"]);
  for (const json& lane : shown["measured"]["lanes"]) {
    if (lane["lane"] == "compute") continue;
    EXPECT_NEAR(lane["exposed_seconds"].get<double>(),
                run.steps[step - 1]["exposed_seconds"][lane["lane"]].get<double>(), 1e-9)
        << lane["lane"];
  }
  EXPECT_GT(shown["predicted"]["step_seconds"].get<double>(), 0);
  EXPECT_EQ(shown["peaks"]["device"]["measured_bytes"], run.steps[2]["device_peak_bytes"]);
  EXPECT_FALSE(fs::exists(page() + ".partial"));
}

TEST_F(ReportCommand, ShowsAPlan) {
  const Outcome outcome = run(plan({"--json", "--report", page()}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json said = json::parse(outcome.out);
  const json shown = data();
  EXPECT_EQ(shown["predicted"]["step_seconds"], said["step_seconds"]);
  EXPECT_EQ(shown["tokens"], said["tokens"]);
  EXPECT_EQ(shown["model_flops"], said["model_flops"]);
  EXPECT_EQ(shown["peaks"]["device"]["planned_bytes"], said["device_peak_bytes"]);
  EXPECT_EQ(shown["peaks"]["host"]["budget_bytes"], said["budgets"]["host_bytes"]);
  EXPECT_FALSE(shown.contains("measured"));
}

TEST_F(ReportCommand, ListsWhatEverySettingCameTo) {
  ASSERT_EQ(run(plan({"--report", page(), "--offload-fraction", "0.5"})).status, 0);
  const json shown = data();
  const auto expect = [&](const char* name, const char* value, const char* source) {
    EXPECT_EQ(setting(shown, name)["value"], value) << name;
    EXPECT_EQ(setting(shown, name)["source"], source) << name;
  };
  expect("--seq-len", "512", "given");
  expect("--chunk-tokens", "64", "given");
  expect("--offload-fraction", "0.5", "given");
  expect("--beta2", "0.95", "default");
  expect("--min-learning-rate", "3e-05", "auto");
  for (const char* name : {"--attention-group", "--parameter-tier", "--device-memory"}) {
    EXPECT_EQ(setting(shown, name)["source"], "auto") << name;
    EXPECT_NE(setting(shown, name)["value"], "auto") << name;
  }
  EXPECT_TRUE(setting(shown, "--overlap-comm").is_null())
      << "a flag that is not built is no setting";
}

TEST_F(ReportCommand, TellsWhatAProfileSetFromWhatWasGiven) {
  const std::string profile =
      directory_.write("p.toml", "chunk-tokens = 32\nattention-group = 2\n");
  ASSERT_EQ(run(plan({"--report", page(), "--profile", profile})).status, 0);
  const json shown = data();
  EXPECT_EQ(setting(shown, "--attention-group")["source"], "profile");
  EXPECT_EQ(setting(shown, "--attention-group")["value"], "2");
  EXPECT_EQ(setting(shown, "--chunk-tokens")["source"], "given") << "flags win over a profile";
  EXPECT_EQ(setting(shown, "--chunk-tokens")["value"], "64");
}

TEST_F(ReportCommand, SaysWhyAPlanDoesNotFit) {
  const Outcome outcome = run(plan({"--report", page(), "--device-memory", "16KiB"}));
  EXPECT_EQ(outcome.status, 2);
  const json shown = data();
  EXPECT_NE(shown["ending"].get<std::string>().find("Does not fit"), std::string::npos);
  EXPECT_FALSE(shown.contains("predicted"));
}

TEST_F(ReportCommand, IsWrittenOfARunThatWasInterrupted) {
  Child child(with_steps(tiered({"--report", page()}), "100000"));
  ASSERT_TRUE(child.wait_for_output("step 2/"));
  EXPECT_FALSE(fs::exists(page())) << "there before the run has ended";
  child.send(SIGINT);
  EXPECT_EQ(child.wait().status, 1);
  const json shown = data();
  EXPECT_NE(shown["ending"].get<std::string>().find("cancelled by SIGINT"), std::string::npos);
  EXPECT_GE(shown["history"]["loss"].size(), 2U);
  EXPECT_TRUE(shown.contains("measured"));
}

TEST_F(ReportCommand, OfADryRunHasThePrediction) {
  ASSERT_EQ(run(train({"--dry-run", "--report", page()})).status, 0);
  EXPECT_TRUE(data().contains("predicted"));
  EXPECT_FALSE(data().contains("measured"));
}

// Status 2 before anything has run; nothing is left.
TEST_F(ReportCommand, IsRefusedWhereNoPageCanBeWritten) {
  directory_.write("file", "");
  for (const fs::path& path : {directory_ / "nowhere/page.html", directory_ / "file/page.html"}) {
    expect_refused(train({"--report", path}), {"--report", path.string()});
    const Outcome planned = run(plan({"--report", path}));
    EXPECT_EQ(planned.status, 2);
    EXPECT_NE(planned.err.find("--report"), std::string::npos) << planned.err;
    EXPECT_EQ(planned.out, "");
  }
}

// The page is renamed to its name, which would put it in a device's place.
TEST_F(ReportCommand, TakesTheNameOfNothingButAFile) {
  expect_refused(train({"--report", "/dev/null"}), {"--report '/dev/null'", "regular file"});
  expect_refused(train({"--report", directory_ / "swap"}), {"regular file"});
  expect_refused(train({"--report", ""}), {"--report ''"});
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(ReportCommand, NamesWhatItHoldsInTheBill) {
  const Outcome outcome = run(train({"--dry-run", "--report", page()}));
  EXPECT_NE(outcome.out.find("report, at most"), std::string::npos) << outcome.out;
  EXPECT_EQ(run(train({"--dry-run"})).out.find("report, at most"), std::string::npos);
}

}  // namespace
}  // namespace ebbtide::test
