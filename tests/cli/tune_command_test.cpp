// `ebbtide tune`, and `--profile` of what it saved, as child processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <set>

#include "tests/cli/train_command.hpp"

namespace ebbtide::test {
namespace {

class TuneCommand : public TrainCommand {
 protected:
  // `tune` with the small model and a second of time, from chunks of 32 tokens.
  Arguments tune(const Arguments& more) const {
    Arguments arguments = train({"--time-limit", "1", "--save-profile", profile_});
    arguments.front() = "tune";
    const auto steps = std::ranges::find(arguments, "--steps");
    arguments.erase(steps, steps + 2);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  // `train --dry-run` without a flag of its own for chunks.
  Arguments profiled(const Arguments& more) const {
    Arguments arguments{
        "train",     "--model",   directory_ / "model", "--data", directory_ / "data.txt",
        "--seq-len", "96",        "--device-memory",    "32MiB",  "--host-memory",
        "32MiB",     "--dry-run", "--profile",          profile_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  const std::string profile_ = directory_ / "profile.toml";
};

TEST_F(TuneCommand, SavesAProfileThatTrainTakes) {
  const Outcome tuned = run(tune({"--free", "all", "--prefetch-distance", "0"}));
  ASSERT_EQ(tuned.status, 0) << tuned.err;
  EXPECT_NE(tuned.out.find(" settings were predicted and "), std::string::npos) << tuned.out;
  EXPECT_NE(tuned.out.find("saved " + profile_ + "; use it with"), std::string::npos) << tuned.out;
  EXPECT_NE(tuned.err.find("running the start: --chunk-tokens 32 --prefetch-distance 0"),
            std::string::npos)
      << tuned.err;
  const Outcome trained = run(profiled({}));
  EXPECT_EQ(trained.status, 0) << trained.err;
  EXPECT_EQ(trained.err.find("was made for another run"), std::string::npos) << trained.err;
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "swap"));
}

TEST_F(TuneCommand, LeavesWhatIsGivenUnlessItIsFree) {
  const auto chunks_tried = [this](const Arguments& more) {
    const Outcome outcome = run(tune(more));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    std::set<std::string> chunks;
    const auto report = nlohmann::json::parse(outcome.out);
    for (const nlohmann::json& each : report["candidates"])
      chunks.insert(each["flags"]["chunk-tokens"].get<std::string>());
    return chunks;
  };
  EXPECT_EQ(chunks_tried({"--json"}), std::set<std::string>{"32"});
  const std::set<std::string> freed = chunks_tried({"--json", "--force", "--free", "chunk-tokens"});
  EXPECT_FALSE(freed.contains("32")) << "where it starts is no candidate";
}

TEST_F(TuneCommand, PrintsOneObjectForPrograms) {
  const Outcome outcome = run(tune({"--json", "--free", "all"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["profile"], profile_);
  EXPECT_EQ(report["start"]["flags"]["chunk-tokens"], "32");
  EXPECT_EQ(report["keeps_start"].get<bool>(), report["gain"] == 1.0);
  EXPECT_TRUE(report["ended"] == "done" || report["ended"] == "time up") << report["ended"];
}

TEST_F(TuneCommand, EndsWithTheBestSoFarAtASignal) {
  // Its first step takes twenty minutes.
  Arguments arguments =
      tune({"--activations", "offload", "--link-bandwidth", "256KiB/s", "--free", "all"});
  arguments = set(set(arguments, "--seq-len", "4K"), "--device-memory", "512KiB");
  Child child(set(arguments, "--time-limit", "20h"));
  ASSERT_TRUE(child.wait_for_error("running the start"));
  child.send(SIGINT);
  const Outcome outcome = child.wait();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("interrupted: this is the best so far"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("the start is kept"), std::string::npos) << outcome.out;
  EXPECT_NE(text_of(profile_).find("chunk-tokens = 32"), std::string::npos);
}

TEST_F(TuneCommand, RefusesWhatItCannotUse) {
  for (const char* flag : {"--log-json", "--save", "--resume", "--checksum", "--trace", "--report"})
    expect_refused(tune({flag, "2"}), {flag, "tune"});
  for (const char* flag : {"--steps", "--eval-every", "--eval-data"})
    expect_refused(tune({flag, "2"}), {flag, "--time-limit"});
  expect_refused(tune({"--ranks", "2"}), {"--ranks", "one rank"});
  expect_refused(tune({"--free", "steps"}), {"--free 'steps'", "chunk-tokens", "all"});
  const Arguments fixed{"--attention-group",      "1",    "--activations",     "keep",
                        "--offload-fraction",     "1",    "--activation-tier", "host",
                        "--prefetch-distance",    "1",    "--parameter-tier",  "device",
                        "--transfer-bucket-size", "1MiB", "--gradient-tier",   "device",
                        "--optimizer-tier",       "host"};
  expect_refused(tune(fixed), {"--free"});
  for (const char* time : {"0", "-1", "soon", "5x", "", "25h"})
    expect_refused(set(tune({}), "--time-limit", time), {"--time-limit"});
  directory_.write("profile.toml", "mine");
  expect_refused(tune({}), {"--save-profile", "--force"});
  EXPECT_EQ(text_of(profile_), "mine");
}

TEST_F(TuneCommand, RefusesAStartThatDoesNotFit) {
  expect_refused(set(tune({}), "--device-memory", "4KiB"), {"--device-memory 4096"});
}

TEST_F(TuneCommand, HasHelpWithADefaultForEveryFlag) {
  const Outcome help = run({"tune", "--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* flag : {"--free", "--time-limit", "--save-profile", "--force", "--json",
                           "--profile", "--hardware", "--chunk-tokens", "--config"})
    EXPECT_NE(help.out.find(std::string("  ") + flag), std::string::npos) << flag;
}

using Profile = TuneCommand;

TEST_F(Profile, SetsWhatIsNotGiven) {
  directory_.write("profile.toml", "chunk-tokens = 48\nattention-group = 1\n");
  const Outcome outcome = run(profiled({}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("2 chunks of 48, 1 query chunks"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("chunks of 48 tokens, where auto takes 96"), std::string::npos)
      << outcome.err;
  Arguments planned = profiled({});
  planned.front() = "plan";
  planned.erase(std::ranges::find(planned, "--dry-run"));
  const Outcome plan = run(planned);
  EXPECT_NE(plan.out.find("2 chunks of 48 tokens"), std::string::npos) << plan.out << plan.err;
}

TEST_F(Profile, GivesWayToFlagsAndToAConfigFile) {
  directory_.write("profile.toml", "chunk-tokens = 48\nattention-group = 1\n");
  const Outcome flag = run(profiled({"--chunk-tokens", "32"}));
  EXPECT_NE(flag.out.find("3 chunks of 32, 1 query chunks"), std::string::npos) << flag.out;
  const std::string config = directory_.write("run.toml", "chunk-tokens = 24\n");
  const Outcome file = run(profiled({"--config", config}));
  EXPECT_NE(file.out.find("4 chunks of 24, 1 query chunks"), std::string::npos) << file.out;
  const Outcome again = run(profiled({"--chunk-tokens", "auto"}));
  EXPECT_NE(again.out.find("1 chunks of 96"), std::string::npos) << again.out;
  EXPECT_EQ(again.err.find("note: "), std::string::npos) << again.err;
}

TEST_F(Profile, WarnsWhereItWasMadeForAnotherRun) {
  directory_.write("profile.toml",
                   "attention-group = 1\n[made-for]\nseq-len = 128\ndtype = \"bf16\"\n");
  const Outcome outcome = run(profiled({}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("warning: --profile " + profile_ +
                             " was made for another run: "
                             "--seq-len was 128, now it is 96"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("--dtype was bf16, now it is fp32"), std::string::npos) << outcome.err;
}

TEST_F(Profile, IsRefusedWithItsNameWhereItIsNone) {
  expect_refused(profiled({}), {"--profile " + profile_, "no such file"});
  directory_.write("profile.toml", "steps = 3\n");
  expect_refused(profiled({}), {"--profile " + profile_, "line 1", "steps"});
  directory_.write("profile.toml", "chunk-tokens = \"many\"\n");
  expect_refused(profiled({}), {"--profile " + profile_, "--chunk-tokens 'many'"});
  directory_.write("profile.toml", "hardware = \"abacus\"\n");
  expect_refused(profiled({}), {"--hardware", "abacus"});
}

}  // namespace
}  // namespace ebbtide::test
