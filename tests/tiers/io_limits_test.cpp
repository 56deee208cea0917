// What systems refuse: io_uring by seccomp, locked memory, file size, disk space. Each in a child.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "tests/tiers/child_process.hpp"
#include "tests/tiers/queue_setting.hpp"

namespace ebbtide::tiers {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
// Sanitizers make mlock do nothing and succeed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMlockIsIntercepted = true;
#else
constexpr bool kMlockIsIntercepted = false;
#endif

constexpr std::uint64_t kSpaceBytes = 4 * kMiB;

// Writes and reads all of the space and says what came of it.
std::string round_trip(QueueBench& bench) {
  fill_random(bench.source(), 1);
  const IoResult wrote = bench.transfer(1, IoDirection::kWrite, 0, kSpaceBytes);
  if (wrote.error) return io_error(IoDirection::kWrite, wrote).what();
  const IoResult read = bench.transfer(2, IoDirection::kRead, 0, kSpaceBytes);
  if (read.error) return io_error(IoDirection::kRead, read).what();
  return equal(bench.source(), bench.target()) ? "the same bytes" : "other bytes";
}

std::string lines(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& line : all) text += (text.empty() ? "" : "\n") + line;
  return text;
}

// What a child says: engine, bytes, warnings, one a line.
std::string report(QueueBench& bench) {
  const std::string bytes = round_trip(bench);
  return fmt::format("{}\n{}\n{} warnings\n{}", bench.queue().engine_name(), bytes,
                     bench.queue().warnings().size(), lines(bench.queue().warnings()));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// docs/faults.md F5.
class RefusedIoUring : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Errno, RefusedIoUring, testing::Values(EPERM, ENOSYS),
                         [](const auto& each) { return each.param == EPERM ? "Eperm" : "Enosys"; });

TEST_P(RefusedIoUring, FallsBackToThreadsWithOneWarningThatSaysWhy) {
  const ChildEnd end = run_in_child([] {
    if (!refuse_io_uring(GetParam(), RefusedCalls::kAll)) return std::string("no seccomp");
    QueueBench bench({.engine = IoEngine::kAuto}, kSpaceBytes);
    return report(bench);
  });
  if (end.text == "no seccomp") GTEST_SKIP() << "seccomp filters are refused on this machine";
  EXPECT_EQ(end.exit_status, 0);
  EXPECT_TRUE(has(end.text, "threads\nthe same bytes\n1 warnings\n")) << end.text;
  EXPECT_TRUE(has(end.text, GetParam() == EPERM ? "EPERM" : "ENOSYS")) << end.text;
  EXPECT_TRUE(has(end.text, fmt::format("errno {}", GetParam()))) << end.text;
  EXPECT_TRUE(has(end.text, "seccomp") || has(end.text, "sysctl")) << end.text;
}

TEST_P(RefusedIoUring, IsAnErrorWhereItWasForced) {
  const ChildEnd end = run_in_child([] {
    if (!refuse_io_uring(GetParam(), RefusedCalls::kAll)) return std::string("no seccomp");
    QueueBench bench({.engine = IoEngine::kUring}, kSpaceBytes);
    return report(bench);
  });
  if (end.text == "no seccomp") GTEST_SKIP() << "seccomp filters are refused on this machine";
  EXPECT_EQ(end.exit_status, 1);
  EXPECT_TRUE(has(end.text, "cannot set up io_uring")) << end.text;
  EXPECT_TRUE(has(end.text, GetParam() == EPERM ? "EPERM" : "ENOSYS")) << end.text;
}

// The ring works, then the kernel serves it no longer: jobs end with the errno, nothing hangs.
TEST(BrokenRing, FailsItsJobsAndStillEnds) {
  if (uring_refused()) GTEST_SKIP() << "io_uring is refused on this machine";
  const ChildEnd end = run_in_child([] {
    QueueBench bench({.engine = IoEngine::kUring}, kSpaceBytes, {}, nullptr, {.depth = 2});
    const std::string before = round_trip(bench);
    if (!refuse_io_uring(EPERM, RefusedCalls::kEnterOnly)) return std::string("no seccomp");
    for (JobId job = 10; job < 20; ++job) bench.submit(job, IoDirection::kWrite, 0, kSpaceBytes);
    bench.queue().drain();
    int refused = 0;
    for (JobId job = 10; job < 20; ++job)
      refused += bench.completions().wait(job).error.value() == EPERM ? 1 : 0;
    bench.end_queue();
    return fmt::format("{}, then {} refused", before, refused);
  });
  if (end.text == "no seccomp") GTEST_SKIP() << "seccomp filters are refused on this machine";
  EXPECT_EQ(end.exit_status, 0);
  // The ring was waiting when the filter came: what it is woken for first may still get through.
  EXPECT_TRUE(end.text == "the same bytes, then 10 refused" ||
              end.text == "the same bytes, then 9 refused")
      << end.text;
}

// docs/faults.md F6. Root is not subject to the limit, so the child must be somebody else.
TEST(LockedMemoryLimit, LeavesBuffersPlainWithTheLimitAndTheNeedInOneWarning) {
  if (uring_refused()) GTEST_SKIP() << "io_uring is refused on this machine";
  const ChildEnd end = run_in_child([] {
    TemporaryDirectory directory;  // made, and the files too, while they may be
    SwapFiles files({.size_bytes = kSpaceBytes, .directories = {directory.path()}});
    const rlimit limit{64 * 1024, 64 * 1024};
    ::setrlimit(RLIMIT_MEMLOCK, &limit);
    if (!drop_root()) return std::string("still root");
    HostArena arena({.size_bytes = 2 * kSpaceBytes, .lock = PageLock::kTry});
    Completions completions;
    auto queue = make_io_queue(IoEngine::kUring, files, {.registered = arena.bytes()},
                               completions.callback());
    const auto source = arena.bytes().first(kSpaceBytes);
    const auto target = arena.bytes().last(kSpaceBytes);
    fill_random(source, 1);
    const IoRequest write{0, source.data(), kSpaceBytes};
    const IoRequest read{0, target.data(), kSpaceBytes};
    queue->submit(1, IoDirection::kWrite, {&write, 1});
    queue->drain();
    queue->submit(2, IoDirection::kRead, {&read, 1});
    queue->drain();
    return fmt::format("{} failures, {}\nqueue: {}\narena: {}", completions.failures(),
                       equal(source, target) ? "the same bytes" : "other bytes",
                       lines(queue->warnings()), lines(arena.warnings()));
  });
  ASSERT_EQ(end.exit_status, 0) << end.text;
  if (end.text == "still root") GTEST_SKIP() << "this process may not change its user";
  EXPECT_TRUE(has(end.text, "0 failures, the same bytes")) << end.text;
  const std::string need = fmt::format("{} bytes", 2 * kSpaceBytes);
  EXPECT_TRUE(has(end.text, "queue: io_uring: registering " + need)) << end.text;
  EXPECT_EQ(has(end.text, "arena: host arena: locking " + need), !kMlockIsIntercepted) << end.text;
  EXPECT_TRUE(has(end.text, "is 65536 bytes")) << end.text;
  EXPECT_TRUE(has(end.text, "ENOMEM")) << end.text;
  EXPECT_EQ(std::ranges::count(end.text, '\n'), 2) << end.text;
}

// docs/faults.md F2 (b), at start: nothing is written and no signal raised.
TEST(FileSizeLimit, IsAnErrorBeforeTheFirstByte) {
  const ChildEnd end = run_in_child([] {
    const rlimit limit{100 * 1024, 100 * 1024};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    TemporaryDirectory directory;
    try {
      SwapFiles files({.size_bytes = kSpaceBytes, .directories = {directory.path()}});
      return std::string("no error");
    } catch (const Error& error) {
      return fmt::format("{} {} {}", exit_status(error.code()), directory.empty(), error.what());
    }
  });
  EXPECT_EQ(end.signal, 0);
  EXPECT_TRUE(has(end.text, "2 true cannot preallocate the swap file: does not fit")) << end.text;
  EXPECT_TRUE(has(end.text, "wanted 4194304 bytes, got 102400")) << end.text;
  EXPECT_TRUE(has(end.text, "EFBIG")) << end.text;
}

// docs/faults.md F2 (b), later: the kernel writes short, then refuses, and raises SIGXFSZ, whose
// default is to kill.
TEST(FileSizeLimit, FailsTheJobAndKillsNobodyWhenItComesLater) {
  for (const IoEngine engine : {IoEngine::kUring, IoEngine::kThreads}) {
    if (engine == IoEngine::kUring && uring_refused()) continue;
    const ChildEnd end = run_in_child([&] {
      ::signal(SIGXFSZ, SIG_DFL);
      QueueBench bench({.engine = engine}, kSpaceBytes);
      const rlimit limit{100 * 1024, 100 * 1024};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      const IoResult result = bench.transfer(1, IoDirection::kWrite, 0, kMiB);
      return fmt::format("{} at {} wanted {} got {}", result.error.value(), result.offset,
                         result.wanted, result.got);
    });
    EXPECT_EQ(end.signal, 0) << static_cast<int>(engine);
    EXPECT_EQ(end.text, fmt::format("{} at 102400 wanted 1048576 got 102400", EFBIG));
  }
}

// A file system of 1 MiB in memory.
bool mount_small(const std::filesystem::path& at) {
  return mount_privately(at, "tmpfs", "size=1m");
}

// docs/faults.md F2 (a), at start. F2 (c), a disk that fills later, cannot touch what is
// preallocated.
TEST(FullDisk, IsAnErrorWithBothNumbersAndLeavesNothing) {
  const ChildEnd end = run_in_child([] {
    TemporaryDirectory directory;
    if (!mount_small(directory.path())) return std::string("no mount");
    std::string text;
    try {
      SwapFiles files({.size_bytes = kSpaceBytes, .directories = {directory.path()}});
    } catch (const Error& error) {
      text = fmt::format("{} {}", exit_status(error.code()), error.what());
    }
    const auto space = std::filesystem::space(directory.path());
    text += fmt::format("\n{} {}", directory.empty(), space.available == space.capacity);
    ::umount(directory.path().c_str());
    return text;
  });
  if (end.text == "no mount") GTEST_SKIP() << "this process may not mount";
  EXPECT_TRUE(has(end.text, "2 cannot preallocate the swap file: does not fit")) << end.text;
  EXPECT_TRUE(has(end.text, "wanted 4194304 bytes, got 1048576; ENOSPC: ")) << end.text;
  EXPECT_TRUE(has(end.text, "\ntrue true")) << end.text;
}

// docs/faults.md F2 (a), where blocks were not reserved: a positive short count, then ENOSPC.
TEST(FullDisk, FailsTheJobAfterItsShortWrite) {
  for (const IoEngine engine : {IoEngine::kUring, IoEngine::kThreads}) {
    if (engine == IoEngine::kUring && uring_refused()) continue;
    const ChildEnd end = run_in_child([&] {
      TemporaryDirectory directory;
      if (!mount_small(directory.path())) return std::string("no mount");
      SwapFilesOptions sparse{.directories = {directory.path()},
                              .reserve = [](int file, std::uint64_t size_bytes) {
                                return ::ftruncate(file, static_cast<off_t>(size_bytes));
                              }};
      std::string text;
      {
        QueueBench bench({.engine = engine}, kSpaceBytes, std::move(sparse), nullptr,
                         {.block_bytes = 2 * kMiB, .depth = 1});
        const IoResult result = bench.transfer(1, IoDirection::kWrite, 0, kSpaceBytes);
        text = fmt::format("{} at {} wanted {} got {}", result.error.value(), result.offset,
                           result.wanted, result.got);
      }
      ::umount(directory.path().c_str());
      return text;
    });
    if (end.text == "no mount") GTEST_SKIP() << "this process may not mount";
    EXPECT_EQ(end.text, fmt::format("{} at 1048576 wanted 2097152 got 1048576", ENOSPC));
  }
}

}  // namespace
}  // namespace ebbtide::tiers
