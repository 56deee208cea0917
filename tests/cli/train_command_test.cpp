// `ebbtide train` as a child process: messages, exit status, what it leaves behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "src/model/config.hpp"
#include "src/train/checkpoint_directory.hpp"
#include "src/train/token_file.hpp"
#include "tests/cli/child.hpp"

namespace ebbtide::test {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

// A small model, data for it and an empty place for swap files.
class TrainCommand : public testing::Test {
 protected:
  TrainCommand() {
    model::ModelConfig config;
    config.layers = 2;
    config.hidden = 64;
    config.heads = 4;
    config.kv_heads = 2;
    config.head_dim = 16;
    config.ffn = 96;
    config.vocab = 256;
    fs::create_directory(directory_ / "model");
    fs::create_directory(directory_ / "swap");
    write_text(directory_ / "model/config.json", model::write_config(config, DType::kF32));
    std::string text;
    for (int i = 0; i < 400; ++i) text += "the words of line " + std::to_string(i * i) + "\n";
    write_text(directory_ / "data.txt", text);
  }

  // `train` with the small model and what is given after.
  Arguments train(const Arguments& more) const {
    Arguments arguments{"train",
                        "--model",
                        directory_ / "model",
                        "--data",
                        directory_ / "data.txt",
                        "--seq-len",
                        "96",
                        "--chunk-tokens",
                        "32",
                        "--threads",
                        "1",
                        "--steps",
                        "3",
                        "--device-memory",
                        "32MiB",
                        "--host-memory",
                        "32MiB"};
    for (const std::string& argument : more) arguments.push_back(argument);
    return arguments;
  }
  // The same, with everything that may leave on NVMe.
  Arguments tiered(const Arguments& more) const {
    Arguments arguments = train(more);
    for (const std::string& argument :
         {std::string("--nvme-path"), directory_ / "swap", std::string("--activations"),
          std::string("offload"), std::string("--activation-tier"), std::string("nvme"),
          std::string("--optimizer-tier"), std::string("nvme")})
      arguments.push_back(argument);
    return arguments;
  }
  // `train` with one flag set to something else.
  Arguments with(const std::string& flag, const std::string& value) const {
    return set(train({}), flag, value);
  }
  static Arguments with_steps(const Arguments& arguments, const std::string& steps) {
    return set(arguments, "--steps", steps);
  }
  static Arguments set(Arguments arguments, const std::string& flag, const std::string& value) {
    for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
      if (arguments[i] != flag) continue;
      arguments[i + 1] = value;
      return arguments;
    }
    arguments.push_back(flag);
    arguments.push_back(value);
    return arguments;
  }
  void expect_refused(const Arguments& arguments, const Arguments& said) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("ebbtide: ")) << outcome.err;
    for (const std::string& text : said)
      EXPECT_NE(outcome.err.find(text), std::string::npos) << text << " in: " << outcome.err;
    EXPECT_TRUE(fs::is_empty(directory_ / "swap"));
  }
  std::vector<nlohmann::json> log_of(const Arguments& arguments) const {
    Arguments logged = arguments;
    logged.insert(logged.end(), {"--log-json", directory_ / "log.jsonl", "--checksum"});
    const Outcome outcome = run(logged);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    std::ifstream file(directory_ / "log.jsonl");
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }

  TemporaryDirectory directory_;
};

TEST_F(TrainCommand, RefusesAnUnknownFlag) {
  expect_refused(train({"--sequence-length", "8"}), {"--sequence-length", "--help"});
}

TEST_F(TrainCommand, RefusesFlagsOfPartsThatAreNotBuilt) {
  const std::vector<Arguments> flags{{"--device", "cuda"},
                                     {"--device", "cuda:1"},
                                     {"--sequence-parallel", "2"},
                                     {"--data-parallel", "2"},
                                     {"--allgather-bucket-size", "1MiB"},
                                     {"--reduce-bucket-size", "1MiB"},
                                     {"--overlap-comm", "on"},
                                     {"--prefetch-bucket-size", "1MiB"},
                                     {"--trace", "file"},
                                     {"--report", "file.html"},
                                     {"--profile", "file"},
                                     {"--hardware", "name"},
                                     {"--ranks", "8"}};
  for (const Arguments& flag : flags)
    expect_refused(train(flag), {flag[0], "not available in this version"});
}

TEST_F(TrainCommand, RefusesSizesThatCannotBeMeant) {
  for (const char* flag : {"--device-memory", "--max-live-parameters", "--io-block-size",
                           "--transfer-bucket-size", "--host-memory", "--nvme-memory"}) {
    for (const char* size : {"-1", "", "64K", "1e9", "9223372036854775808", "18446744073709551616"})
      expect_refused(with(flag, size), {flag, std::string("'") + size + "'"});
  }
  for (const char* flag : {"--device-memory", "--max-live-parameters", "--io-block-size"})
    expect_refused(with(flag, "0"), {flag, "must be at least"});
}

TEST_F(TrainCommand, RefusesCountsThatCannotBeMeant) {
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

TEST_F(TrainCommand, WorksWithTheSmallestSizesAndCounts) {
  for (const Arguments& flag :
       {Arguments{"--transfer-bucket-size", "1"}, Arguments{"--transfer-bucket-size", "0"},
        Arguments{"--prefetch-distance", "0"}, Arguments{"--io-queue-depth", "1"},
        Arguments{"--io-block-size", "4KiB"}}) {
    const Outcome outcome = run(tiered(flag));
    EXPECT_EQ(outcome.status, 0) << flag[0] << " " << flag[1] << ": " << outcome.err;
  }
}

TEST_F(TrainCommand, RefusesAnUnknownPresetAndListsThem) {
  expect_refused(with("--model", "llama9-7b"), {"llama9-7b", "demo", "llama2-7b"});
}

TEST_F(TrainCommand, RefusesAModelThatIsForPlanningOnly) {
  expect_refused(with("--model", "gpt-7b"), {"gpt-7b", "planning only"});
}

TEST_F(TrainCommand, RefusesAMalformedConfigNamingIt) {
  write_text(directory_ / "model/config.json", "{\"model_type\": \"llama\", ");
  expect_refused(train({}), {"config.json"});
  write_text(directory_ / "model/config.json", "{\"model_type\": \"llama\", \"hidden_size\": -64}");
  expect_refused(train({}), {"config.json"});
}

TEST_F(TrainCommand, RefusesATokenOutsideTheVocabulary) {
  const std::string path = directory_ / "data.bin";
  std::string bytes = train::make_token_header(2, 200);
  for (int i = 0; i < 200; ++i)
    bytes += i == 150 ? std::string("\x00\x01", 2) : std::string("a\0", 2);
  write_text(path, bytes);
  expect_refused(with("--data", path), {path, "150", "256"});
}

TEST_F(TrainCommand, RefusesDataThatIsMissingEmptyOrTooShort) {
  expect_refused(with("--data", directory_ / "nothing.txt"), {"nothing.txt"});
  write_text(directory_ / "empty.txt", "");
  expect_refused(with("--data", directory_ / "empty.txt"), {"empty.txt"});
  write_text(directory_ / "short.txt", std::string(96, 'a'));
  expect_refused(with("--data", directory_ / "short.txt"), {"short.txt", "96", "97"});
}

TEST_F(TrainCommand, NamesTheSmallestDeviceBudgetAndThenTakesIt) {
  const Outcome refused = run(with("--device-memory", "64KiB"));
  EXPECT_EQ(refused.status, 2) << refused.err;
  EXPECT_NE(refused.err.find("--device-memory 65536"), std::string::npos) << refused.err;
  const std::string marker = "the smallest that fits is ";
  const std::size_t at = refused.err.find(marker);
  ASSERT_NE(at, std::string::npos) << refused.err;
  const std::string smallest = std::to_string(std::stoull(refused.err.substr(at + marker.size())));
  const Outcome taken = run(with("--device-memory", smallest));
  EXPECT_EQ(taken.status, 0) << taken.err;
  const std::string less = std::to_string(std::stoull(smallest) - 256);
  EXPECT_EQ(run(with("--device-memory", less)).status, 2);
}

TEST_F(TrainCommand, NamesTheHostBudgetThatIsTooSmall) {
  expect_refused(with("--host-memory", "64KiB"), {"--host-memory 65536", "at least"});
}

TEST_F(TrainCommand, RefusesBudgetsBeyondTheMachine) {
  expect_refused(with("--host-memory", "1000000GiB"),
                 {"--device-memory", "--host-memory", "at most"});
}

TEST_F(TrainCommand, RefusesNvmePathsThatCannotBeUsed) {
  expect_refused(train({"--nvme-path", directory_ / "nowhere"}), {"--nvme-path", "nowhere"});
  expect_refused(train({"--nvme-path", directory_ / "data.txt"}), {"--nvme-path", "directory"});
  // Not even root may make files there.
  expect_refused(tiered({"--nvme-path", "/proc"}), {"/proc"});
}

TEST_F(TrainCommand, RefusesAnNvmeBudgetBeyondTheDisk) {
  expect_refused(tiered({"--nvme-memory", "1000000GiB"}), {"--nvme-memory", "--nvme-path"});
}

TEST_F(TrainCommand, RefusesNvmeSettingsWithoutAPath) {
  expect_refused(train({"--nvme-memory", "1MiB"}), {"--nvme-memory needs --nvme-path"});
  expect_refused(train({"--parameter-tier", "nvme"}), {"--parameter-tier nvme needs --nvme-path"});
  expect_refused(train({"--activation-tier", "nvme"}),
                 {"--activation-tier nvme needs --nvme-path"});
}

// A disk that is full and a file size limit are one case to the program: the space is not there
// when the files are made.
TEST_F(TrainCommand, RefusesWhereTheDiskGivesTooLittle) {
  Arguments arguments{"-c", "ulimit -f 100; exec \"$0\" \"$@\"", program()};
  for (const std::string& argument : tiered({})) arguments.push_back(argument);
  const Outcome outcome = Child("/bin/sh", arguments).wait();
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("swap"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("wanted"), std::string::npos) << outcome.err;
  EXPECT_TRUE(fs::is_empty(directory_ / "swap"));
}

TEST_F(TrainCommand, EndsWithinAStepAtASignalAndLeavesNothing) {
  for (const auto& [signal, name] : {std::pair(SIGINT, "SIGINT"), std::pair(SIGTERM, "SIGTERM")}) {
    Child child(with_steps(tiered({}), "100000"));
    ASSERT_TRUE(child.wait_for_output("step 2/"));
    child.send(signal);
    const Outcome outcome = child.wait();
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_NE(outcome.err.find(std::string("cancelled by ") + name), std::string::npos)
        << outcome.err;
    EXPECT_TRUE(fs::is_empty(directory_ / "swap"));
  }
}

TEST_F(TrainCommand, LeavesNothingWhenKilled) {
  Child child(with_steps(tiered({}), "100000"));
  ASSERT_TRUE(child.wait_for_output("step 2/"));
  child.send(SIGKILL);
  EXPECT_EQ(child.wait().ended_by, SIGKILL);
  EXPECT_TRUE(fs::is_empty(directory_ / "swap"));
  EXPECT_EQ(run(tiered({})).status, 0);
}

TEST_F(TrainCommand, LeavesALoadableCheckpointWheneverItIsKilled) {
  const std::string save = directory_ / "save";
  for (int killed = 0; killed < 8; ++killed) {
    Child child(with_steps(tiered({"--save", save, "--save-every", "1", "--keep", "2"}), "100000"));
    ASSERT_TRUE(child.wait_for_output("step " + std::to_string(2 + killed) + "/"));
    child.send(SIGKILL);
    child.wait();
    const Outcome resumed = run(train({"--resume", save, "--dry-run"}));
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    const std::vector<std::int64_t> steps = train::CheckpointDirectory(save).steps();
    ASSERT_FALSE(steps.empty());
    const Outcome goes_on =
        run(with_steps(train({"--resume", save}), std::to_string(steps.back() + 1)));
    EXPECT_EQ(goes_on.status, 0) << goes_on.err;
  }
}

TEST_F(TrainCommand, LogsExactlyTheDocumentedFields) {
  const std::vector<nlohmann::json> lines = log_of(tiered({}));
  ASSERT_EQ(lines.size(), 3U);
  const std::set<std::string> fields{"step",
                                     "loss",
                                     "grad_norm",
                                     "learning_rate",
                                     "tokens",
                                     "step_seconds",
                                     "tokens_per_second",
                                     "exposed_seconds",
                                     "device_peak_bytes",
                                     "host_peak_bytes",
                                     "nvme_peak_bytes",
                                     "nvme_bytes_written",
                                     "nvme_bytes_read",
                                     "loads",
                                     "loads_in_time",
                                     "weights_xxh3"};
  for (const nlohmann::json& line : lines) {
    std::set<std::string> found;
    for (const auto& [key, value] : line.items()) found.insert(key);
    EXPECT_EQ(found, fields);
    EXPECT_TRUE(line["exposed_seconds"].is_object());
    EXPECT_TRUE(line["exposed_seconds"].contains("nvme_read"));
    EXPECT_EQ(line["tokens"], 96);
    EXPECT_GT(line["nvme_bytes_written"], 0);
    EXPECT_GT(line["nvme_bytes_read"], 0);
  }
}

TEST_F(TrainCommand, TrainsTheSameWeightsInHalfOfTheMemory) {
  const auto resident = log_of(train({"--activations", "keep"}));
  const std::uint64_t half = resident[0]["device_peak_bytes"].get<std::uint64_t>() / 2;
  const auto moved = log_of(
      set(tiered({"--verify-offload", "--poison-freed"}), "--device-memory", std::to_string(half)));
  ASSERT_EQ(resident.size(), moved.size());
  for (std::size_t i = 0; i < moved.size(); ++i) {
    EXPECT_EQ(resident[i]["weights_xxh3"], moved[i]["weights_xxh3"]);
    EXPECT_EQ(resident[i]["loss"], moved[i]["loss"]);
    EXPECT_EQ(resident[i]["grad_norm"], moved[i]["grad_norm"]);
    EXPECT_GT(resident[i]["device_peak_bytes"], moved[i]["device_peak_bytes"]);
  }
}

TEST_F(TrainCommand, PrintsTheBillAndRunsNothingOnADryRun) {
  const Outcome outcome = run(tiered({"--dry-run"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* text : {"memory bill", "saved activations", "optimizer state", "constant",
                           "smallest --device-memory that fits"})
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text << " in " << outcome.out;
  EXPECT_EQ(outcome.out.find("step 1/"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(directory_ / "swap"));
}

TEST_F(TrainCommand, RunsNoStepWhenNoneIsAsked) {
  const Outcome outcome = run(with_steps(tiered({}), "0"));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("step 1/"), std::string::npos);
}

TEST_F(TrainCommand, ComparesPredictionAndMeasurementAtTheEnd) {
  const Outcome outcome = run(tiered({}));
  for (const char* text : {"predicted", "measured", "device peak", "nvme   peak", "moved"})
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text << " in " << outcome.out;
}

TEST_F(TrainCommand, TakesTheSameNamesFromAConfigFile) {
  const std::string config = directory_ / "run.toml";
  write_text(config, "steps = 2\nactivations = \"offload\"\nlearning-rate = 1e-3\n");
  Arguments arguments = train({"--config", config});
  arguments.erase(std::find(arguments.begin(), arguments.end(), "--steps"),
                  std::find(arguments.begin(), arguments.end(), "--device-memory"));
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("step 2/2"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("activations offloaded"), std::string::npos) << outcome.out;
}

TEST_F(TrainCommand, RefusesAConfigFileWithWhatIsNoFlag) {
  const std::string config = directory_ / "run.toml";
  write_text(config, "stepps = 2\n");
  expect_refused(train({"--config", config}), {"stepps"});
  write_text(config, "grad-clip = \"lots\"\n");
  expect_refused(train({"--config", config}), {"--grad-clip", "lots"});
  expect_refused(train({"--config", directory_ / "nothing.toml"}), {"nothing.toml"});
}

TEST(Program, PrintsItsVersionAndHelp) {
  EXPECT_EQ(run({"--version"}).out.substr(0, 8), "ebbtide ");
  const Outcome help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("train"), std::string::npos);
}

TEST(Program, RefusesSubcommandsThatItLacks) {
  for (const char* name : {"plan", "profile", "tune", "bench", "doctor"}) {
    const Outcome outcome = run({name});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.err.find("not available in this version"), std::string::npos);
  }
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
