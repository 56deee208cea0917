// Budgets that are too small, too large, or shown beforehand.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/train_command.hpp"

namespace ebbtide::test {
namespace {

class TrainBudgets : public TrainCommand {
 protected:
  // The number after `marker` in the refusal of these arguments.
  static std::uint64_t number_after(const std::string& marker, const Arguments& arguments) {
    const Outcome refused = run(arguments);
    EXPECT_EQ(refused.status, 2) << refused.err;
    const std::size_t at = refused.err.find(marker);
    EXPECT_NE(at, std::string::npos) << marker << " in: " << refused.err;
    return at == std::string::npos ? 0 : std::stoull(refused.err.substr(at + marker.size()));
  }
  static std::uint64_t would_fit(const std::string& flag, const Arguments& arguments) {
    const std::string text = run(arguments).err;
    const std::size_t at = text.find(flag + " ", text.find("would fit:"));
    EXPECT_NE(at, std::string::npos) << flag << " in: " << text;
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + flag.size() + 1));
  }
  // That number is taken, and `step` bytes less are not.
  static void expect_smallest(const Arguments& arguments, const std::string& flag,
                              std::uint64_t bytes, std::uint64_t step) {
    const Outcome taken = run(set(arguments, flag, std::to_string(bytes)));
    EXPECT_EQ(taken.status, 0) << taken.err;
    const Outcome refused = run(set(arguments, flag, std::to_string(bytes - step)));
    EXPECT_EQ(refused.status, 2) << flag << " " << bytes - step;
  }
};

TEST_F(TrainBudgets, NamesTheSmallestDeviceBudgetAndThenTakesIt) {
  const Arguments small = with("--device-memory", "64KiB");
  expect_refused(small, {"--device-memory 65536 is too small for 96 tokens in chunks of 32"});
  const std::uint64_t bytes = would_fit("--device-memory", small);
  expect_smallest(small, "--device-memory", bytes, 256);
}

TEST_F(TrainBudgets, NamesTheSmallestHostBudgetAndThenTakesIt) {
  const Arguments small = with("--host-memory", "64KiB");
  expect_refused(small, {"weights, gradients and optimizer state do not fit where they stay",
                         "--host-memory 65536 has to be at least"});
  const std::uint64_t bytes = would_fit("--host-memory", small);
  expect_smallest(small, "--host-memory", bytes, 4096);
}

// What stays there is not all: a step needs room for what comes and goes.
TEST_F(TrainBudgets, NamesANvmeBudgetThatFitsAndThenTakesIt) {
  for (const Arguments& more : {Arguments{}, Arguments{"--parameter-tier", "nvme"}}) {
    const Arguments small = set(tiered(more), "--nvme-memory", "64KiB");
    const std::uint64_t stay = number_after("--nvme-memory 65536 has to be at least ", small);
    expect_refused(set(small, "--nvme-memory", std::to_string(stay - 4096)), {"--nvme-memory"});
    const std::uint64_t fits = would_fit("--nvme-memory", small);
    const Outcome taken = run(set(small, "--nvme-memory", std::to_string(fits)));
    EXPECT_EQ(taken.status, 0) << taken.err;
    const Arguments between = set(small, "--nvme-memory", std::to_string(stay));
    const std::uint64_t then = number_after("it fits with ", between);
    EXPECT_EQ(run(set(small, "--nvme-memory", std::to_string(then))).status, 0);
  }
}

TEST_F(TrainBudgets, NamesTheSmallestShareOfLiveParametersAndThenTakesIt) {
  const Arguments small = with("--max-live-parameters", "1");
  expect_refused(
      small, {"of weights on the device at once, their limit is 1;", "--max-live-parameters 1"});
  const std::uint64_t bytes = number_after("the smallest that fits is ", small);
  expect_smallest(small, "--max-live-parameters", bytes, 256);
}

TEST_F(TrainBudgets, CountsWeightsThatStayOnTheDeviceAsLive) {
  const Arguments small = train({"--max-live-parameters", "1", "--parameter-tier", "device"});
  expect_refused(small, {"--max-live-parameters 1: the weights that stay on the device take",
                         "--parameter-tier"});
  const std::uint64_t bytes = number_after("stay on the device take ", small);
  expect_smallest(small, "--max-live-parameters", bytes, 1);
}

TEST_F(TrainBudgets, RefusesBudgetsBeyondTheMachine) {
  expect_refused(with("--host-memory", "1000000GiB"),
                 {"--device-memory", "--host-memory", "at most"});
}

// Of a million chunks the plans would fill any machine; none of them is begun.
TEST_F(TrainBudgets, RefusesPlansLargerThanTheMemoryBeforeAnyIsMade) {
  constexpr std::uintmax_t kTokens = std::uintmax_t{64} << 20;
  directory_.write("long.txt", "");
  std::filesystem::resize_file(directory_ / "long.txt", kTokens + 1);
  const Outcome outcome = run(set(set(with("--seq-len", "64M"), "--chunk-tokens", "64"), "--data",
                                  directory_ / "long.txt"));
  expect_refusal(outcome, {"--chunk-tokens 64: to plan 67108864 tokens in 1048576 chunks takes",
                           "--chunk-tokens ", " fits"});
  EXPECT_LT(outcome.peak_bytes, std::uint64_t{128} << 20);
}

TEST_F(TrainBudgets, PrintsTheBillAndRunsNothingOnADryRun) {
  const Outcome outcome = run(tiered({"--dry-run"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* text : {"memory bill", "saved activations", "optimizer state", "constant",
                           "smallest --device-memory that fits"})
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text << " in " << outcome.out;
  EXPECT_EQ(outcome.out.find("step 1/"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "swap"));
}

TEST_F(TrainBudgets, NamesOnePeakOfATierInTheBillAndAtTheEnd) {
  for (const Arguments& arguments : {train({}), tiered({})}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    for (const std::string tier : {"device", "host  "}) {
      const std::string start = "\n  " + tier + " peak ";
      const std::size_t billed = outcome.out.find(start);
      ASSERT_NE(billed, std::string::npos) << outcome.out;
      const std::size_t number = outcome.out.find_first_not_of(' ', billed + start.size());
      const std::string peak =
          outcome.out.substr(number, outcome.out.find(", of a budget", number) - number);
      EXPECT_NE(outcome.out.find(start + " predicted " + peak + " ("), std::string::npos)
          << outcome.out;
    }
  }
}

}  // namespace
}  // namespace ebbtide::test
