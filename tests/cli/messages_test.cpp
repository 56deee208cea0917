// Messages that nobody can read, and what they must not do.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
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

}  // namespace
}  // namespace ebbtide::test
