// Runs that are ended from outside, and what they leave behind.
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <sstream>
#include <utility>

#include "src/train/checkpoint_directory.hpp"
#include "tests/cli/train_command.hpp"

namespace ebbtide::test {
namespace {

constexpr std::array kStopping{std::pair(SIGINT, "SIGINT"), std::pair(SIGTERM, "SIGTERM")};

// Bytes that a process has handed to write calls; io_uring's are not among them.
std::uint64_t written_by(pid_t pid) {
  std::istringstream file(text_of("/proc/" + std::to_string(pid) + "/io"));
  for (std::string word; file >> word;) {
    std::uint64_t bytes = 0;
    if (word == "wchar:" && file >> bytes) return bytes;
  }
  return 0;
}

class TrainSignals : public TrainCommand {
 protected:
  void expect_cancelled(const Outcome& outcome, const std::string& by) const {
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("ebbtide: cancelled by " + by), std::string::npos) << outcome.err;
    EXPECT_TRUE(std::filesystem::is_empty(directory_ / "swap"));
  }
  // A run whose first step takes twenty minutes, in many short copies over a slow link. Only
  // activations go to the disk, so that what is written there is written in mid-step.
  Arguments slow() const {
    const Arguments arguments =
        train({"--nvme-path", directory_ / "swap", "--activations", "offload", "--activation-tier",
               "nvme", "--io-engine", "threads", "--link-bandwidth", "256KiB/s",
               "--attention-group", "1", "--transfer-bucket-size", "0"});
    return set(set(arguments, "--seq-len", "4K"), "--device-memory", "512KiB");
  }
};

TEST_F(TrainSignals, EndsAtASignalBetweenAllItDoes) {
  for (const auto& [signal, name] : kStopping) {
    Child child(with_steps(tiered({}), "100000"));
    ASSERT_TRUE(child.wait_for_output("step 2/"));
    child.send(signal);
    expect_cancelled(child.wait(), name);
  }
}

TEST_F(TrainSignals, EndsInMidStep) {
  for (const auto& [signal, name] : kStopping) {
    Child child(slow());
    ASSERT_TRUE(child.wait_for_output("a step is expected to take"));
    const std::uint64_t before = written_by(child.pid());
    ASSERT_TRUE(child.wait_until([&] { return written_by(child.pid()) > before + (64 << 10); }));
    child.send(signal);
    const Outcome outcome = child.wait();
    expect_cancelled(outcome, name);
    EXPECT_EQ(outcome.out.find("step 1/"), std::string::npos) << "it ended its step first";
  }
}

// FAULTS F11: two live runs in one directory, one of which is killed, and a file of the user's that
// looks like theirs.
TEST_F(TrainSignals, SharesItsDirectoryAndLeavesNothingWhenKilled) {
  const Logged alone = logged(tiered({}));
  const auto foreign = directory_.write("swap/x.swp", "mine");
  Child other(with_steps(tiered({}), "100000"));
  ASSERT_TRUE(other.wait_for_output("step 2/"));
  expect_same_log(logged(tiered({})).steps, alone.steps);
  other.send(SIGKILL);
  EXPECT_EQ(other.wait().ended_by, SIGKILL);
  EXPECT_EQ(text_of(foreign), "mine");
  std::filesystem::remove(foreign);
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "swap"));
  expect_same_log(logged(tiered({})).steps, alone.steps);
}

TEST_F(TrainSignals, LeavesALoadableCheckpointWheneverItIsKilled) {
  const std::filesystem::path save = directory_ / "save";
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

}  // namespace
}  // namespace ebbtide::test
