// Disks that are missing, full, limited, or without O_DIRECT.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "tests/cli/train_command.hpp"
#include "tests/tiers/child_process.hpp"

namespace ebbtide::test {
namespace {

using tiers::mount_privately;

constexpr char kNoMount[] = "this process may not mount, nor make a user namespace";

class TrainDisk : public TrainCommand {
 protected:
  std::filesystem::path swap() const { return directory_ / "swap"; }
  // A run with another file system where the swap files go.
  Outcome run_on(const char* type, const std::string& options, const Arguments& arguments,
                 unsigned long flags = 0) const {
    return Child(program(), arguments,
                 [&] { return mount_privately(swap(), type, options, flags); })
        .wait();
  }
};

bool limit_files_to(rlim_t bytes) {
  const rlimit limit{bytes, bytes};
  return ::setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

TEST_F(TrainDisk, RefusesNvmePathsThatCannotBeUsed) {
  expect_refused(
      train({"--nvme-path", directory_ / "nowhere"}),
      {"--nvme-path ", "nowhere: No such file or directory (errno 2); give a directory"});
  expect_refused(train({"--nvme-path", directory_ / "data.txt"}),
                 {"--nvme-path ", "data.txt: Not a directory (errno 20); give a directory"});
}

TEST_F(TrainDisk, RefusesAFileSystemThatTakesNoFiles) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may try";
  expect_refused(tiered({"--nvme-path", "/proc", "--nvme-memory", "4MiB"}),
                 {"--nvme-path: cannot make a swap file",
                  "in /proc; no file can be made on that file system; name another NVMe path"});
}

TEST_F(TrainDisk, RefusesADirectoryThatItMayNotWrite) {
  std::filesystem::permissions(
      swap(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const Outcome outcome = Child(program(), tiered({}), tiers::obey_file_modes).wait();
  std::filesystem::permissions(swap(), std::filesystem::perms::owner_all);
  if (outcome.skipped) GTEST_SKIP() << "root may not give up its right to write everywhere";
  expect_refusal(outcome, {"--nvme-path ",
                           "swap: Permission denied (errno 13); give a directory "
                           "that this user may write"});
}

TEST_F(TrainDisk, RefusesAReadOnlyFileSystem) {
  const Outcome outcome = run_on("tmpfs", "size=1m", tiered({}), MS_RDONLY);
  if (outcome.skipped) GTEST_SKIP() << kNoMount;
  expect_refusal(outcome, {"--nvme-path ", "swap: Read-only file system (errno 30); give a "});
}

// docs/faults.md F2: a disk with too little room, and one with none.
TEST_F(TrainDisk, RefusesAFullDisk) {
  const Outcome asked = run_on("tmpfs", "size=512k", tiered({"--nvme-memory", "4MiB"}));
  if (asked.skipped) GTEST_SKIP() << kNoMount;
  expect_refusal(asked, {"--nvme-memory 4194304 needs more than the 524288 bytes that --nvme-path "
                         "has free; free space there"});
  const Outcome left = run_on("tmpfs", "size=512k", tiered({}));
  // A twentieth stays free.
  expect_refusal(left, {"--nvme-memory 495616 has to be at least ", "would fit: "});
}

// docs/faults.md F2: the limit on a file's size is no free space that anybody reports.
TEST_F(TrainDisk, RefusesWhereAFileMayNotBeAsLarge) {
  const Outcome outcome =
      Child(program(), tiered({}), [] { return limit_files_to(100 << 10); }).wait();
  expect_refusal(outcome, {"cannot preallocate the swap file: does not fit", "wanted ",
                           "got 102400; EFBIG: the file size limit (RLIMIT_FSIZE, ulimit -f)",
                           "raise it, ask for less NVMe memory or name more NVMe paths"});
}

// docs/faults.md F8: ramfs refuses O_DIRECT, and does not say how much it has free.
TEST_F(TrainDisk, GoesOnThroughThePageCacheWithOneWarningAndTheSameBits) {
  const auto on_ramfs = [this] { return mount_privately(swap(), "ramfs", ""); };
  const Logged cached = logged(tiered({"--nvme-memory", "4MiB"}), on_ramfs);
  if (cached.outcome.skipped) GTEST_SKIP() << kNoMount;
  EXPECT_EQ(cached.warnings_with("O_DIRECT was refused in "), 1) << cached.outcome.err;
  EXPECT_EQ(cached.warnings_with("EINVAL"), 1) << cached.outcome.err;
  const Logged direct = logged(tiered({"--nvme-memory", "4MiB"}));
  EXPECT_EQ(direct.warnings_with("O_DIRECT"), 0) << direct.outcome.err;
  expect_same_log(cached.steps, direct.steps);
  ASSERT_FALSE(cached.steps.empty());
  EXPECT_GT(cached.steps[0]["nvme_bytes_read"], 0);
  expect_refusal(run_on("ramfs", "", tiered({})), {"does not say how much it has free; give "
                                                   "--nvme-memory"});
}

// docs/faults.md F5: two queues meet the refusal, one warning tells of it.
TEST_F(TrainDisk, GoesOnWithThreadsWithOneWarningAndTheSameBits) {
  for (const int error : {EPERM, ENOSYS}) {
    const auto refused = [&] { return tiers::refuse_io_uring(error, tiers::RefusedCalls::kAll); };
    const Logged threads = logged(tiered({}), refused);
    if (threads.outcome.skipped) GTEST_SKIP() << "seccomp filters are refused on this machine";
    EXPECT_EQ(threads.warnings_with("io_uring"), 1) << threads.outcome.err;
    EXPECT_EQ(threads.warnings_with(error == EPERM ? "EPERM" : "ENOSYS"), 1);
    expect_same_log(threads.steps, logged(tiered({"--io-engine", "threads"})).steps);
    expect_refusal(Child(program(), tiered({"--io-engine", "uring"}), refused).wait(),
                   {"cannot set up io_uring", error == EPERM ? "EPERM" : "ENOSYS"});
  }
}

TEST_F(TrainDisk, RefusesOutputsThatCannotBeMade) {
  expect_refused(train({"--save", directory_ / "data.txt"}),
                 {"--save: cannot make the checkpoint directory: Not a directory (errno 20)",
                  "give a directory that this user may make and write"});
  expect_refused(train({"--log-json", directory_ / "nowhere/log"}),
                 {"--log-json", "nowhere/log: No such file or directory (errno 2)",
                  "name a file in a directory that is there"});
}

// A disk that fills while a checkpoint is written: the one before stays, no half of one is left.
TEST_F(TrainDisk, EndsWithItsCauseAndNoHalfCheckpointWhereOneDoesNotFit) {
  const std::filesystem::path save = directory_ / "save";
  const Arguments saving = train({"--save", save, "--save-every", "1"});
  ASSERT_EQ(run(with_steps(saving, "1")).status, 0);
  const auto small_files = [] { return limit_files_to(600 << 10); };
  const Outcome outcome = Child(program(), saving, small_files).wait();
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  for (const char* part : {"cannot write the file: File too large (errno 27), in ",
                           ".step-00000001.partial/ebbtide-state/optimizer.safetensors"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(save / ".step-00000001.partial"));
  EXPECT_EQ(run(train({"--resume", save})).status, 0);
}

TEST_F(TrainDisk, EndsWithItsCauseWhereTheDiskOfCheckpointsIsFull) {
  const std::filesystem::path save = directory_ / "save";
  std::filesystem::create_directory(save);
  const Outcome outcome = Child(program(), train({"--save", save}), [&] {
                            return mount_privately(save, "tmpfs", "size=1m");
                          }).wait();
  if (outcome.skipped) GTEST_SKIP() << kNoMount;
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("cannot write the file: No space left on device (errno 28), in " +
                             save.string()),
            std::string::npos)
      << outcome.err;
}

TEST_F(TrainDisk, EndsWithItsCauseWhereTheLogCannotBeWritten) {
  const Outcome outcome = run(train({"--log-json", "/dev/full"}));
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("cannot write the log: No space left on device (errno 28), in "
                             "/dev/full"),
            std::string::npos)
      << outcome.err;
}

TEST_F(TrainDisk, RefusesAnNvmeBudgetBeyondTheDisk) {
  expect_refused(tiered({"--nvme-memory", "1000000GiB"}), {"--nvme-memory", "--nvme-path"});
}

TEST_F(TrainDisk, RefusesNvmeSettingsWithoutAPath) {
  expect_refused(train({"--nvme-memory", "1MiB"}), {"--nvme-memory needs --nvme-path"});
  expect_refused(train({"--parameter-tier", "nvme"}), {"--parameter-tier nvme needs --nvme-path"});
  expect_refused(train({"--activation-tier", "nvme"}),
                 {"--activation-tier nvme needs --nvme-path"});
}

}  // namespace
}  // namespace ebbtide::test
