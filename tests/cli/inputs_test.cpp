// Models and data that cannot be used.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "src/model/config.hpp"
#include "src/train/token_file.hpp"
#include "tests/cli/train_command.hpp"
#include "tests/small_llama.hpp"

namespace ebbtide::test {
namespace {

bool limit(int resource, rlim_t bytes) {
  const rlimit both{bytes, bytes};
  return ::setrlimit(static_cast<__rlimit_resource>(resource), &both) == 0;
}

class TrainInputs : public TrainCommand {};

TEST_F(TrainInputs, RefusesAnUnknownPresetAndListsThem) {
  expect_refused(with("--model", "llama9-7b"), {"llama9-7b", "demo", "llama2-7b"});
}

TEST_F(TrainInputs, RefusesAModelThatIsForPlanningOnly) {
  expect_refused(with("--model", "gpt-7b"), {"gpt-7b", "planning only"});
}

TEST_F(TrainInputs, RefusesAMalformedConfigNamingIt) {
  directory_.write("model/config.json", "{\"model_type\": \"llama\", ");
  expect_refused(train({}), {"config.json"});
  directory_.write("model/config.json", "{\"model_type\": \"llama\", \"hidden_size\": -64}");
  expect_refused(train({}), {"config.json"});
}

TEST_F(TrainInputs, RefusesAModelWhoseWeightsAreNotInTheOneFileThatIsRead) {
  for (const std::string name : {"model.safetensors.index.json", "pytorch_model.bin", "other.bin",
                                 "model-00001-of-00002.safetensors"}) {
    const std::filesystem::path weights = directory_.write("model/" + name, "weights");
    for (const Arguments& mode : {Arguments{}, Arguments{"--dry-run"}})
      expect_refused(train(mode), {"--model " + (directory_ / "model").string(), name,
                                   "model.safetensors, is read", "save_pretrained("});
    std::filesystem::remove(weights);
  }
}

TEST_F(TrainInputs, TakesNoTokenFileForWeights) {
  const std::string path = directory_.write(
      "model/data.bin", train::make_token_header(2, 97) + std::string(std::size_t{2} * 97, '\0'));
  const Outcome outcome = run(with("--data", path));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(TrainInputs, RefusesALinkToWeightsThatAreMissing) {
  std::filesystem::create_symlink(directory_ / "gone", directory_ / "model/model.safetensors");
  expect_refused(train({}), {"model.safetensors is a link to ", "gone, which is missing"});
}

TEST_F(TrainInputs, SaysWhereTheWeightsComeFrom) {
  const auto expect_weights = [](const Arguments& arguments, const std::string& from) {
    for (const Arguments& mode : {Arguments{}, Arguments{"--dry-run"}}) {
      Arguments all = arguments;
      all.insert(all.end(), mode.begin(), mode.end());
      const Outcome outcome = run(all);
      EXPECT_EQ(outcome.status, 0) << outcome.err;
      EXPECT_NE(outcome.out.find("\nweights: " + from + "\n"), std::string::npos) << outcome.out;
    }
  };
  expect_weights(train({"--seed", "7"}), "random, seed 7");
  const std::filesystem::path save = directory_ / "save";
  ASSERT_EQ(run(with_steps(train({"--save", save}), "1")).status, 0);
  expect_weights(with("--model", save), "from " + (save / "model.safetensors").string());
  expect_weights(train({"--resume", save}), "from checkpoint " + (save / "step-00000001").string());
}

TEST_F(TrainInputs, RefusesATokenOutsideTheVocabulary) {
  std::string bytes = train::make_token_header(2, 200);
  for (int i = 0; i < 200; ++i)
    bytes += i == 150 ? std::string("\x00\x01", 2) : std::string("a\0", 2);
  const std::string path = directory_.write("data.bin", bytes);
  expect_refused(with("--data", path), {path, "150", "256"});
}

// Each thread has a stack of the limit: the first one, or one of the team, has no room.
TEST_F(TrainInputs, RefusesMoreThreadsThanCanBeStarted) {
  for (const rlim_t stack : {rlim_t{2} << 30, rlim_t{256} << 20}) {
    const auto little_room = [stack] {
      return limit(RLIMIT_STACK, stack) && limit(RLIMIT_AS, rlim_t{1} << 30);
    };
    const Outcome outcome = Child(program(), with("--threads", "16"), little_room).wait();
    EXPECT_EQ(outcome.ended_by, 0);
    expect_refusal(outcome, {"could not start a thread: Resource temporarily unavailable",
                             "use fewer --threads or raise the limit"});
  }
}

TEST_F(TrainInputs, RefusesMoreSequencesAStepThanCanBeMeant) {
  expect_refused(train({"--batch-size", "1000000000000"}),
                 {"--batch-size '1000000000000': must be at most 1048576"});
  expect_refused(train({"--batch-size", "1M", "--grad-accumulation", "2"}),
                 {"--batch-size 1048576 times --grad-accumulation 2", "at most 1048576 sequences"});
}

TEST_F(TrainInputs, WarnOfASequenceLongerThanTheModelWasMadeFor) {
  model::ModelConfig config = small_llama();
  for (const std::int64_t most : {95, 96}) {
    config.max_positions = most;
    directory_.write("model/config.json", model::write_config(config, DType::kF32));
    const Outcome outcome = run(train({"--dry-run"}));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(
        outcome.err.find("warning: --seq-len 96 is past the 95 positions") != std::string::npos,
        most == 95)
        << outcome.err;
  }
}

TEST_F(TrainInputs, RunOnTheSmallestStackThatLimitsAreSetTo) {
  const auto small_stack = [] { return limit(RLIMIT_STACK, rlim_t{64} << 10); };
  const Arguments saving = with_steps(tiered({"--save", directory_ / "save"}), "2");
  const Outcome saved = Child(program(), saving, small_stack).wait();
  EXPECT_EQ(saved.status, 0) << saved.ended_by << saved.err;
  const Outcome resumed =
      Child(program(), tiered({"--resume", directory_ / "save"}), small_stack).wait();
  EXPECT_EQ(resumed.status, 0) << resumed.ended_by << resumed.err;
}

TEST_F(TrainInputs, FailWhereTheDataShrinksWhileItTrains) {
  Child child(with_steps(train({}), "100000"));
  ASSERT_TRUE(child.wait_for_output("step 1/"));
  std::filesystem::resize_file(directory_ / "data.txt", 1);
  const Outcome outcome = child.wait();
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("it has shrunk since it was opened"), std::string::npos)
      << outcome.err;
}

TEST_F(TrainInputs, RefusesDataThatIsMissingEmptyOrTooShort) {
  expect_refused(with("--data", directory_ / "nothing.txt"), {"nothing.txt"});
  directory_.write("empty.txt", "");
  expect_refused(with("--data", directory_ / "empty.txt"), {"empty.txt"});
  directory_.write("short.txt", std::string(96, 'a'));
  expect_refused(with("--data", directory_ / "short.txt"), {"short.txt", "96", "97"});
}

}  // namespace
}  // namespace ebbtide::test
