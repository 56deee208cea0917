// What the command line itself refuses, and how it explains itself.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/cli/train_command.hpp"

namespace ebbtide::test {
namespace {

class TrainFlags : public TrainCommand {};

TEST_F(TrainFlags, RefusesAnUnknownFlag) {
  expect_refused(train({"--sequence-length", "8"}), {"--sequence-length", "--help"});
}

TEST_F(TrainFlags, RefusesFlagsOfPartsThatAreNotBuilt) {
  const std::vector<Arguments> flags{{"--device", "cuda"},
                                     {"--device", "cuda:1"},
                                     {"--sequence-parallel", "2"},
                                     {"--data-parallel", "2"},
                                     {"--allgather-bucket-size", "1MiB"},
                                     {"--reduce-bucket-size", "1MiB"},
                                     {"--overlap-comm", "on"},
                                     {"--prefetch-bucket-size", "1MiB"},
                                     {"--ranks", "8"}};
  for (const Arguments& flag : flags)
    expect_refused(train(flag), {flag[0], "not available in this version"});
}

TEST_F(TrainFlags, NameTheMachineThatPlansAreMadeFor) {
  expect_refused(train({"--hardware", "abacus"}), {"abacus", "rtx4090x8"});
  expect_refused(train({"--hardware", "./missing.toml"}), {"./missing.toml"});
  const Outcome generic = run(train({"--dry-run"}));
  const Outcome named = run(train({"--dry-run", "--hardware", "h100"}));
  EXPECT_EQ(named.status, 0) << named.err;
  const auto expected = [](const Outcome& outcome) {
    return outcome.out.substr(outcome.out.find("a step is expected to take"));
  };
  EXPECT_NE(expected(named), expected(generic));
}

TEST_F(TrainFlags, RefusesSizesThatCannotBeMeant) {
  for (const char* flag : {"--device-memory", "--max-live-parameters", "--io-block-size",
                           "--transfer-bucket-size", "--host-memory", "--nvme-memory"}) {
    for (const char* size : {"-1", "", "64K", "1e9", "9223372036854775808", "18446744073709551616"})
      expect_refused(with(flag, size), {flag, std::string("'") + size + "'"});
  }
  for (const char* flag : {"--device-memory", "--max-live-parameters", "--io-block-size"})
    expect_refused(with(flag, "0"), {flag, "must be at least"});
}

TEST_F(TrainFlags, RefusesABlockSizeThatIsNoMultipleOfAPage) {
  for (const Arguments& arguments : {train({}), tiered({})})
    expect_refused(set(arguments, "--io-block-size", "5000"),
                   {"--io-block-size '5000': must be a multiple of 4096 bytes"});
}

TEST_F(TrainFlags, RefusesAFlagThatIsGivenTwice) {
  expect_refused(train({"--steps", "3"}), {"--steps is given more than once"});
  expect_refused(train({"--log-json", "a", "--log-json", "b"}),
                 {"--log-json is given more than once"});
  expect_refused(train({"--data", directory_ / "data.txt", "--steps", "3"}),
                 {"--steps is given more than once"});
}

TEST_F(TrainFlags, RefusesCountsThatCannotBeMeant) {
  for (const char* flag :
       {"--seq-len", "--batch-size", "--grad-accumulation", "--steps", "--chunk-tokens",
        "--attention-group", "--prefetch-distance", "--threads", "--io-queue-depth", "--eval-every",
        "--save-every", "--keep", "--warmup-steps"}) {
    for (const char* count :
         {"-1", "", "64KiB", "1e9", "9223372036854775808", "18446744073709551616"})
      expect_refused(with(flag, count), {flag, std::string("'") + count + "'"});
  }
  for (const char* flag : {"--seq-len", "--batch-size", "--grad-accumulation", "--chunk-tokens",
                           "--attention-group", "--threads", "--io-queue-depth"})
    expect_refused(with(flag, "0"), {flag, "must be at least 1"});
}

// docs/faults.md D1: 1 is a size and a count like any other. What cannot be done with one byte is
// refused before a step runs, never in it.
TEST_F(TrainFlags, TakesOneOrRefusesItBeforeTheFirstStep) {
  for (const char* flag :
       {"--seq-len", "--batch-size", "--grad-accumulation", "--steps", "--chunk-tokens",
        "--attention-group", "--prefetch-distance", "--threads", "--io-queue-depth",
        "--warmup-steps", "--transfer-bucket-size"})
    EXPECT_EQ(run(set(tiered({}), flag, "1")).status, 0) << flag;
  for (const char* flag : {"--save-every", "--keep"})
    EXPECT_EQ(run(train({"--save", directory_ / "save", flag, "1"})).status, 0) << flag;
  for (const char* flag : {"--device-memory", "--host-memory", "--nvme-memory",
                           "--max-live-parameters", "--io-block-size"}) {
    const Outcome outcome = run(set(tiered({}), flag, "1"));
    expect_refusal(outcome, {flag});
    EXPECT_EQ(outcome.out.find("step 1/"), std::string::npos) << flag;
  }
}

TEST_F(TrainFlags, WorksWithTheSmallestSizesAndCounts) {
  for (const Arguments& flag :
       {Arguments{"--transfer-bucket-size", "1"}, Arguments{"--transfer-bucket-size", "0"},
        Arguments{"--prefetch-distance", "0"}, Arguments{"--io-queue-depth", "1"},
        Arguments{"--io-block-size", "4KiB"}}) {
    const Outcome outcome = run(tiered(flag));
    EXPECT_EQ(outcome.status, 0) << flag[0] << " " << flag[1] << ": " << outcome.err;
  }
}

TEST_F(TrainFlags, TakesTheSameNamesFromAConfigFile) {
  const std::string config =
      directory_.write("run.toml", "steps = 2\nactivations = \"offload\"\nlearning-rate = 1e-3\n");
  Arguments arguments = train({"--config", config});
  arguments.erase(std::find(arguments.begin(), arguments.end(), "--steps"),
                  std::find(arguments.begin(), arguments.end(), "--device-memory"));
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("step 2/2"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("activations offloaded"), std::string::npos) << outcome.out;
}

TEST_F(TrainFlags, RefusesAConfigFileWithWhatIsNoFlag) {
  const std::string config = directory_.write("run.toml", "stepps = 2\n");
  expect_refused(train({"--config", config}), {"stepps"});
  directory_.write("run.toml", "grad-clip = \"lots\"\n");
  expect_refused(train({"--config", config}), {"--grad-clip", "lots"});
  expect_refused(train({"--config", directory_ / "nothing.toml"}), {"nothing.toml"});
}

TEST_F(TrainFlags, NameFileAndLineOfWhatIsWrongInAConfigFile) {
  const std::string config =
      directory_.write("run.toml", "seed = 3\n# steps\nwarmup-steps = \"few\"\n");
  expect_refused(train({"--config", config}), {config + ", line 3: --warmup-steps 'few'"});
  // What is given on the command line as well is taken from there.
  EXPECT_EQ(run(train({"--config", config, "--warmup-steps", "1"})).status, 0);
  directory_.write("run.toml", "seed = 3\n\n\n  stepps=2\n");
  expect_refused(train({"--config", config, "--dry-run"}),
                 {config + ", line 4: no flag is named 'stepps'"});
  directory_.write("run.toml", "warmup-steps = [1, 2]\n");
  expect_refused(train({"--config", config}),
                 {config + ", line 1: --warmup-steps is given more than once"});
}

TEST_F(TrainFlags, RefuseAConfigThatIsNoFileOrIsNoneOfItsSize) {
  expect_refused(train({"--config", "/dev/zero"}), {"--config /dev/zero: not a regular file"});
  ASSERT_EQ(mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  expect_refused(train({"--config", directory_ / "fifo"}), {"fifo: not a regular file"});
  expect_refused(train({"--config", directory_.path()}), {": is a directory"});
  directory_.write("large.toml", std::string((1 << 20) + 1, '#'));
  expect_refused(train({"--config", directory_ / "large.toml"}), {"has 1048577 bytes"});
}

TEST(Program, PrintsItsVersionAndHelp) {
  EXPECT_EQ(run({"--version"}).out.substr(0, 8), "ebbtide ");
  const Outcome help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("train"), std::string::npos);
}

TEST(Program, RefusesSubcommandsThatItLacks) {
  EXPECT_EQ(run({"trane"}).status, 2);
  EXPECT_NE(run({"trane"}).err.find("unknown subcommand 'trane'"), std::string::npos);
  EXPECT_EQ(run({}).status, 2);
  EXPECT_EQ(run({"--frobnicate"}).status, 2);
}

TEST(Program, HasHelpWithADefaultForEveryFlag) {
  const Outcome help = run({"train", "--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* flag : {"--model",
                           "--data",
                           "--seq-len",
                           "--batch-size",
                           "--grad-accumulation",
                           "--steps",
                           "--eval-every",
                           "--eval-data",
                           "--learning-rate",
                           "--min-learning-rate",
                           "--warmup-steps",
                           "--lr-schedule",
                           "--weight-decay",
                           "--beta1",
                           "--beta2",
                           "--adam-epsilon",
                           "--grad-clip",
                           "--seed",
                           "--dtype",
                           "--threads",
                           "--device",
                           "--device-memory",
                           "--host-memory",
                           "--nvme-memory",
                           "--nvme-path",
                           "--chunk-tokens",
                           "--attention-group",
                           "--activations",
                           "--offload-fraction",
                           "--activation-tier",
                           "--parameter-tier",
                           "--gradient-tier",
                           "--optimizer-tier",
                           "--prefetch-distance",
                           "--transfer-bucket-size",
                           "--max-live-parameters",
                           "--prefetch-bucket-size",
                           "--allgather-bucket-size",
                           "--reduce-bucket-size",
                           "--overlap-comm",
                           "--sequence-parallel",
                           "--data-parallel",
                           "--io-engine",
                           "--io-block-size",
                           "--io-queue-depth",
                           "--verify-offload",
                           "--link-bandwidth",
                           "--hardware",
                           "--ranks",
                           "--log-json",
                           "--trace",
                           "--report",
                           "--checksum",
                           "--profile",
                           "--save",
                           "--save-every",
                           "--keep",
                           "--resume",
                           "--dry-run",
                           "--config"})
    EXPECT_NE(help.out.find(std::string("  ") + flag), std::string::npos) << flag;
}

}  // namespace
}  // namespace ebbtide::test
