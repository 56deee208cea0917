// Messages that nobody can read, and what they must not do.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "tests/cli/train_command.hpp"
#include "tests/tiers/child_process.hpp"

namespace ebbtide::test {
namespace {

bool full() {
  return dup2(open("/dev/full", O_WRONLY | O_CLOEXEC), STDERR_FILENO) == STDERR_FILENO;
}
bool closed() {
  return close(STDERR_FILENO) == 0;
}
bool without_reader() {
  int ends[2];
  return pipe2(ends, O_CLOEXEC) == 0 && close(ends[0]) == 0 &&
         dup2(ends[1], STDERR_FILENO) == STDERR_FILENO;
}

const std::vector<std::pair<const char*, bool (*)()>> kLost{
    {"full", full}, {"closed", closed}, {"without a reader", without_reader}};

class TrainMessages : public TrainCommand {};

TEST_F(TrainMessages, ChangeNoStatusWhereTheyCannotBeWritten) {
  for (const auto& [name, lost] : kLost) {
    const Outcome refused = Child(program(), {"trane"}, lost).wait();
    EXPECT_EQ(refused.status, 2) << name << ", signal " << refused.ended_by;
    const Outcome failed = Child(program(), train({"--log-json", "/dev/full"}), lost).wait();
    EXPECT_EQ(failed.status, 1) << name << ", signal " << failed.ended_by;
  }
}

TEST_F(TrainMessages, EndNoRunAndReachNoFileWhereTheyCannotBeWritten) {
  for (const auto& [name, lost] : kLost) {
    const Logged run = logged(tiered({}), [lost = lost] {
      return lost() && tiers::refuse_io_uring(EPERM, tiers::RefusedCalls::kAll);
    });
    if (run.outcome.skipped) GTEST_SKIP() << "seccomp filters are refused on this machine";
    EXPECT_EQ(run.outcome.ended_by, 0) << name;
    EXPECT_EQ(run.steps.size(), 3U) << name;
    EXPECT_NE(run.outcome.out.find("step 3/3"), std::string::npos) << name;
  }
}

bool full_output() {
  return dup2(open("/dev/full", O_WRONLY | O_CLOEXEC), STDOUT_FILENO) == STDOUT_FILENO;
}

TEST_F(TrainMessages, SayThatStandardOutputIsLostAndEndWithOne) {
  for (const Arguments& arguments : {Arguments{"--help"}, Arguments{"--version"},
                                     Arguments{"train", "--help"}, train({"--dry-run"})}) {
    const Outcome outcome = Child(program(), arguments, full_output).wait();
    EXPECT_EQ(outcome.status, 1) << arguments.back();
    EXPECT_NE(outcome.err.find("standard output could not be written"), std::string::npos)
        << arguments.back() << ": " << outcome.err;
  }
  EXPECT_EQ(Child(program(), {"trane"}, full_output).wait().status, 2);
}

// A hundred lines are more than the buffer holds.
TEST_F(TrainMessages, EndNoRunWhoseStandardOutputIsLost) {
  const Arguments arguments = with_steps(
      train({"--log-json", directory_ / "log.jsonl", "--save", directory_ / "save"}), "100");
  const Outcome outcome = Child(program(), arguments, full_output).wait();
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const std::string log = text_of(directory_ / "log.jsonl");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 100);
  EXPECT_TRUE(std::filesystem::exists(directory_ / "save/step-00000100"));
}

}  // namespace
}  // namespace ebbtide::test
