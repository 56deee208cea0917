// Models and data that cannot be used.
#include <gtest/gtest.h>

#include "src/train/token_file.hpp"
#include "tests/cli/train_command.hpp"

namespace ebbtide::test {
namespace {

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

TEST_F(TrainInputs, RefusesATokenOutsideTheVocabulary) {
  std::string bytes = train::make_token_header(2, 200);
  for (int i = 0; i < 200; ++i)
    bytes += i == 150 ? std::string("\x00\x01", 2) : std::string("a\0", 2);
  const std::string path = directory_.write("data.bin", bytes);
  expect_refused(with("--data", path), {path, "150", "256"});
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
