// What `ebbtide train` prints, logs and computes.
#include <gtest/gtest.h>

#include <set>

#include "tests/cli/train_command.hpp"

namespace ebbtide::test {
namespace {

TEST_F(TrainCommand, LogsExactlyTheDocumentedFields) {
  const std::vector<nlohmann::json> lines = logged(tiered({})).steps;
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
  const auto resident = logged(train({"--activations", "keep"})).steps;
  const std::uint64_t half = resident[0]["device_peak_bytes"].get<std::uint64_t>() / 2;
  const Arguments tight =
      set(tiered({"--verify-offload", "--poison-freed"}), "--device-memory", std::to_string(half));
  const auto moved = logged(tight).steps;
  expect_same_log(resident, moved);
  for (std::size_t i = 0; i < moved.size(); ++i)
    EXPECT_GT(resident[i]["device_peak_bytes"], moved[i]["device_peak_bytes"]);
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

}  // namespace
}  // namespace ebbtide::test
