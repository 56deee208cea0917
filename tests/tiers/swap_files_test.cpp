#include "tiering/tiers/swap_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>

#include "ebbtide/error.hpp"
#include "ebbtide/types.hpp"
#include "tests/temporary_directory.hpp"
#include "tests/tiers/child_process.hpp"
#include "tests/tiers/queue_setting.hpp"
#include "tiering/tiers/nameless_file.hpp"

namespace ebbtide::tiers {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

struct stat status(int descriptor) {
  struct stat info {};
  EXPECT_EQ(::fstat(descriptor, &info), 0);
  return info;
}

class SwapFilesOn : public testing::TestWithParam<Medium> {};
INSTANTIATE_TEST_SUITE_P(Each, SwapFilesOn, testing::Values(Medium::kDisk, Medium::kMemory),
                         [](const auto& each) {
                           return each.param == Medium::kDisk ? "Disk" : "Memory";
                         });

TEST_P(SwapFilesOn, AreReservedInFullNamelessAndPrivate) {
  TemporaryDirectory directory(GetParam());
  const SwapFiles files({.size_bytes = 3 * kMiB + 1, .directories = {directory.path()}});
  EXPECT_EQ(files.size_bytes(), 3 * kMiB + kPageAlignment);
  const struct stat info = status(files.descriptor(0));
  EXPECT_EQ(static_cast<std::uint64_t>(info.st_size), files.size_bytes());
  EXPECT_GE(static_cast<std::uint64_t>(info.st_blocks) * 512, files.size_bytes());
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  EXPECT_EQ(info.st_nlink, 0U);
  EXPECT_TRUE(directory.empty());
  EXPECT_EQ(files.warnings().size(), GetParam() == Medium::kMemory ? 1 : 0);
}

TEST_P(SwapFilesOn, AreReservedByWritingWhereNothingElseWorks) {
  TemporaryDirectory directory(GetParam());
  const int descriptor = open_and_unlink_file(directory.path());
  ASSERT_GE(descriptor, 0);
  EXPECT_TRUE(directory.empty());
  EXPECT_EQ(status(descriptor).st_mode & 0777, 0600U);
  EXPECT_EQ(reserve_by_writing(descriptor, 2 * kMiB + 4096), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(status(descriptor).st_size), 2 * kMiB + 4096);
  EXPECT_GE(static_cast<std::uint64_t>(status(descriptor).st_blocks) * 512, 2 * kMiB + 4096);
  ::close(descriptor);
}

// docs/faults.md F11: nothing to clean up after a kill, and nothing that belongs to others is
// touched.
TEST_P(SwapFilesOn, LeaveNothingWhenKilledAndTouchNothingOfOthers) {
  TemporaryDirectory directory(GetParam());
  const auto foreign = directory.path() / "x.swp";
  std::ofstream(foreign) << "mine";
  const SwapFiles live({.size_bytes = kMiB, .directories = {directory.path()}});
  ASSERT_EQ(::pwrite(live.descriptor(0), std::string(4096, 'a').data(), 0, 0), 0);
  const ChildEnd killed = run_in_child([&]() -> std::string {
    const SwapFiles files({.size_bytes = kMiB, .directories = {directory.path()}});
    ::kill(::getpid(), SIGKILL);
    return "alive";
  });
  EXPECT_EQ(killed.signal, SIGKILL);
  const SwapFiles again({.size_bytes = kMiB, .directories = {directory.path()}});
  EXPECT_NE(status(live.descriptor(0)).st_ino, status(again.descriptor(0)).st_ino);
  std::size_t names = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    EXPECT_EQ(entry.path(), foreign);
    ++names;
  }
  EXPECT_EQ(names, 1);
  std::string content;
  std::ifstream(foreign) >> content;
  EXPECT_EQ(content, "mine");
}

TEST(SwapFiles, ReportTheAlignmentOfTheirFile) {
  TemporaryDirectory directory;
  const SwapFiles files({.size_bytes = kMiB, .directories = {directory.path()}});
  ASSERT_TRUE(files.direct(0)) << "the scratch directory should be on a disk";
  EXPECT_TRUE(files.alignment(0) == 512 || files.alignment(0) == 4096) << files.alignment(0);
  EXPECT_NE(::fcntl(files.descriptor(0), F_GETFL) & O_DIRECT, 0);
}

TEST(SwapFiles, GoThroughThePageCacheWithOneWarningWhereDirectIoIsRefused) {
  TemporaryDirectory directory;
  const SwapFiles files({.size_bytes = kMiB,
                         .directories = {directory.path()},
                         .enable_direct = [](int) { return EINVAL; }});
  EXPECT_FALSE(files.direct(0));
  EXPECT_EQ(files.alignment(0), 1);
  ASSERT_EQ(files.warnings().size(), 1);
  EXPECT_NE(files.warnings()[0].find(directory.path().string()), std::string::npos);
  EXPECT_NE(files.warnings()[0].find("EINVAL"), std::string::npos);
}

TEST(SwapFiles, GoThroughThePageCacheWhereTheDiskAsksForMoreThanAPage) {
  TemporaryDirectory directory;
  const SwapFiles files(
      {.size_bytes = kMiB, .directories = {directory.path()}, .forced_alignment = 16384});
  EXPECT_FALSE(files.direct(0));
  ASSERT_EQ(files.warnings().size(), 1);
  EXPECT_NE(files.warnings()[0].find("16384"), std::string::npos);
}

TEST(SwapFiles, ResolveEveryByteToAPlaceOfItsOwn) {
  for (const std::size_t count : {1, 2, 3, 5}) {
    for (const std::uint64_t pages : {1, 4, 7, 40, 41}) {
      TemporaryDirectory directory(Medium::kMemory);
      const SwapFiles files({.size_bytes = pages * 4096,
                             .directories = std::vector(count, directory.path()),
                             .stripe_bytes = 8192});
      std::set<std::pair<std::size_t, std::uint64_t>> places;
      for (std::uint64_t page = 0; page < pages; ++page) {
        const auto pieces = files.resolve(page * 4096, 4096);
        ASSERT_EQ(pieces.size(), 1);
        EXPECT_TRUE(places.insert({pieces[0].file, pieces[0].offset}).second);
        EXPECT_LE(pieces[0].offset + 4096,
                  static_cast<std::uint64_t>(status(files.descriptor(pieces[0].file)).st_size));
      }
      std::uint64_t reserved = 0;
      for (std::size_t i = 0; i < files.file_count(); ++i)
        reserved += static_cast<std::uint64_t>(status(files.descriptor(i)).st_size);
      EXPECT_EQ(reserved, files.size_bytes()) << count << " files, " << pages << " pages";
    }
  }
}

TEST(SwapFiles, CutARangeAtStripesOnlyWhereThereAreSeveralFiles) {
  TemporaryDirectory directory(Medium::kMemory);
  const SwapFiles one({.size_bytes = 4 * kMiB, .directories = {directory.path()}});
  EXPECT_EQ(one.resolve(4096, 3 * kMiB).size(), 1);
  const SwapFiles two(
      {.size_bytes = 4 * kMiB, .directories = {directory.path(), directory.path()}});
  const auto pieces = two.resolve(4096, 3 * kMiB);
  ASSERT_EQ(pieces.size(), 4);
  EXPECT_EQ(pieces[0].size_bytes, kMiB - 4096);
  EXPECT_EQ(pieces[1].file, 1);
  EXPECT_EQ(pieces[2].file, 0);
  EXPECT_EQ(pieces[2].offset, kMiB);
  EXPECT_EQ(pieces[3].size_bytes, 4096);
  EXPECT_THROW(two.resolve(4 * kMiB, 1), ContractViolation);
}

TEST(SwapFiles, NameTheDirectoryThatIsMissingAndClosesTheOthers) {
  TemporaryDirectory directory;
  const auto missing = directory.path() / "missing";
  try {
    SwapFiles files({.size_bytes = 4 * kMiB, .directories = {directory.path(), missing}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), std::error_code(ENOENT, std::system_category()));
    EXPECT_EQ(error.context().path, missing.string());
    EXPECT_FALSE(error.context().advice.empty());
  }
  EXPECT_TRUE(directory.empty());
}

TEST(SwapFiles, NameTheDirectoryThatCannotBeWritten) {
  const ChildEnd end = run_in_child([] {
    TemporaryDirectory directory;
    std::filesystem::permissions(directory.path(), std::filesystem::perms::owner_read |
                                                       std::filesystem::perms::others_read |
                                                       std::filesystem::perms::others_exec);
    if (!drop_root()) return std::string("still root");
    SwapFiles files({.size_bytes = kMiB, .directories = {directory.path()}});
    return std::string("no error");
  });
  if (end.text == "still root") GTEST_SKIP() << "this process may not change its user";
  EXPECT_EQ(end.exit_status, 1);
  EXPECT_NE(end.text.find("Permission denied (errno 13), in "), std::string::npos) << end.text;
  EXPECT_NE(end.text.find("cannot be written"), std::string::npos) << end.text;
}

TEST(SwapFiles, NameAFileThatIsNoDirectory) {
  TemporaryDirectory directory;
  const auto file = directory.path() / "file";
  std::ofstream(file) << "x";
  try {
    SwapFiles files({.size_bytes = kMiB, .directories = {file}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code().value(), ENOTDIR);
    EXPECT_EQ(error.context().path, file.string());
  }
}

TEST(SwapFiles, SayWhatTheDiskHasWhereItHasTooLittle) {
  TemporaryDirectory directory;
  for (const std::uint64_t size : {std::uint64_t{1} << 50, ~std::uint64_t{0}}) {
    try {
      SwapFiles files({.size_bytes = size, .directories = {directory.path()}});
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), make_error_code(Errc::kDoesNotFit));
      EXPECT_EQ(error.context().wanted, size);
      EXPECT_LT(error.context().got.value(), size);
    }
  }
  EXPECT_TRUE(directory.empty());
}

TEST(SwapFiles, AskForADirectoryOnlyWhereBytesAreWanted) {
  const SwapFiles none({});
  EXPECT_EQ(none.size_bytes(), 0);
  EXPECT_EQ(none.file_count(), 0);
  EXPECT_THROW(SwapFiles({.size_bytes = 1}), Error);
}

TEST(SwapFiles, PassTheirDescriptorsOnWhenMoved) {
  TemporaryDirectory directory(Medium::kMemory);
  SwapFiles first({.size_bytes = kMiB, .directories = {directory.path()}});
  const int descriptor = first.descriptor(0);
  SwapFiles second(std::move(first));
  EXPECT_EQ(first.file_count(), 0);
  EXPECT_EQ(second.descriptor(0), descriptor);
  EXPECT_GE(::fcntl(descriptor, F_GETFL), 0);
  second = SwapFiles({});
  EXPECT_EQ(::fcntl(descriptor, F_GETFL), -1);
}

}  // namespace
}  // namespace ebbtide::tiers
