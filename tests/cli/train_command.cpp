#include "tests/cli/train_command.hpp"

#include <sstream>

#include "src/model/config.hpp"
#include "tests/small_llama.hpp"

namespace ebbtide::test {

namespace fs = std::filesystem;

TrainCommand::TrainCommand() {
  fs::create_directory(directory_ / "model");
  fs::create_directory(directory_ / "swap");
  directory_.write("model/config.json", model::write_config(small_llama(), DType::kF32));
  std::string text;
  for (int i = 0; i < 400; ++i) text += "the words of line " + std::to_string(i * i) + "\n";
  directory_.write("data.txt", text);
}

Arguments TrainCommand::train(const Arguments& more) const {
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
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Arguments TrainCommand::tiered(const Arguments& more) const {
  Arguments arguments = train(more);
  const Arguments everywhere{
      "--nvme-path", directory_ / "swap", "--activations", "offload", "--activation-tier",
      "nvme",        "--optimizer-tier",  "nvme"};
  arguments.insert(arguments.end(), everywhere.begin(), everywhere.end());
  return arguments;
}

Arguments TrainCommand::set(Arguments arguments, const std::string& flag,
                            const std::string& value) {
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] != flag) continue;
    arguments[i + 1] = value;
    return arguments;
  }
  arguments.push_back(flag);
  arguments.push_back(value);
  return arguments;
}

void TrainCommand::expect_refused(const Arguments& arguments, const Arguments& parts) const {
  expect_refusal(run(arguments), parts);
}

void TrainCommand::expect_refusal(const Outcome& outcome, const Arguments& parts) const {
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("ebbtide: ")) << outcome.err;
  for (const std::string& text : parts)
    EXPECT_NE(outcome.err.find(text), std::string::npos) << text << " in: " << outcome.err;
  EXPECT_TRUE(fs::is_empty(directory_ / "swap"));
}

Logged TrainCommand::logged(const Arguments& arguments, const Surroundings& surroundings) const {
  Arguments with_log = arguments;
  with_log.insert(with_log.end(), {"--log-json", directory_ / "log.jsonl", "--checksum"});
  Logged logged{.outcome = Child(program(), with_log, surroundings).wait(), .steps = {}};
  if (logged.outcome.skipped) return logged;
  EXPECT_EQ(logged.outcome.status, 0) << logged.outcome.err;
  std::istringstream file(text_of(directory_ / "log.jsonl"));
  for (std::string line; std::getline(file, line);)
    logged.steps.push_back(nlohmann::json::parse(line));
  return logged;
}

std::size_t Logged::warnings_with(const std::string& text) const {
  std::istringstream lines(outcome.err);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);)
    count += line.find("warning: ") != std::string::npos && line.find(text) != std::string::npos;
  return count;
}

void expect_same_log(const std::vector<nlohmann::json>& a, const std::vector<nlohmann::json>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (const char* field : {"loss", "grad_norm", "weights_xxh3"})
      EXPECT_EQ(a[i][field], b[i][field]) << field << " of step " << i + 1;
  }
}

}  // namespace ebbtide::test
