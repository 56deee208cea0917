#include "tiering/tiers/host_arena.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>
#include <vector>

#include "ebbtide/error.hpp"
#include "ebbtide/types.hpp"
#include "tests/tiers/child_process.hpp"

namespace ebbtide::tiers {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
// What else may become resident meanwhile; a sanitizer's runtime takes some of its own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kOthersBytes = 4 * kMiB;
#else
constexpr std::uint64_t kOthersBytes = kMiB;
#endif

std::uint64_t resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == "VmRSS:" && status >> kib) return kib * 1024;
  }
  return 0;
}

std::uint64_t resident_pages(std::span<std::byte> bytes) {
  std::vector<unsigned char> pages(bytes.size() / kPageAlignment);
  EXPECT_EQ(::mincore(bytes.data(), bytes.size(), pages.data()), 0);
  return static_cast<std::uint64_t>(
      std::ranges::count_if(pages, [](unsigned char page) { return page & 1; }));
}

// docs/faults.md G1: what was asked is what is taken, at once, whatever the size.
TEST(HostArena, TakesExactlyWhatWasAskedAtOnce) {
  const std::uint64_t chunks = 64 * align_up(kMiB + 1, kPageAlignment);
  const std::uint64_t blocks = 100 * align_up(kMiB * 12 / 10, kPageAlignment);
  for (const HugePages huge_pages : {HugePages::kNever, HugePages::kWhereAllowed}) {
    for (const std::uint64_t planned : {chunks, blocks}) {
      const std::uint64_t before = resident_bytes();
      const HostArena arena({.size_bytes = planned, .huge_pages = huge_pages});
      const std::uint64_t taken = resident_bytes() - before;
      EXPECT_EQ(arena.bytes().size(), planned);
      EXPECT_EQ(resident_pages(arena.bytes()), planned / kPageAlignment);
      EXPECT_GE(taken, planned * 9 / 10);
      EXPECT_LE(taken, planned + kOthersBytes);  // page tables are not resident pages
    }
  }
}

TEST(HostArena, RoundsUpToAPageAndStartsOnOne) {
  for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{4096}, 5 * kMiB + 1}) {
    const HostArena arena({.size_bytes = size});
    EXPECT_EQ(arena.bytes().size(), align_up(size, kPageAlignment));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.bytes().data()) % kPageAlignment, 0);
  }
  EXPECT_TRUE(HostArena({}).bytes().empty());
}

TEST(HostArena, StartsOnAHugePageWhereItSpansOne) {
  const HostArena arena({.size_bytes = 3 * kMiB});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.bytes().data()) % (2 * kMiB), 0);
}

// docs/faults.md G2: refused locking is named as what it is, with the amount, and the run goes on.
TEST(HostArena, GoesOnUnlockedWithOneWarning) {
  const HostArena arena({.size_bytes = 4 * kMiB,
                         .lock = PageLock::kTry,
                         .lock_pages = [](void*, std::size_t) { return ENOMEM; }});
  std::ranges::fill(arena.bytes(), std::byte{1});
  ASSERT_EQ(arena.warnings().size(), 1);
  const std::string& warning = arena.warnings()[0];
  for (const char* part : {"locking 4194304 bytes", "ENOMEM", "RLIMIT_MEMLOCK", "ulimit -l"})
    EXPECT_NE(warning.find(part), std::string::npos) << warning;
  EXPECT_EQ(warning.find("device"), std::string::npos) << warning;
}

TEST(HostArena, LocksOnlyWhereAsked) {
  int calls = 0;
  const auto count = [&](void*, std::size_t) { return ++calls, 0; };
  const HostArena without({.size_bytes = kMiB, .lock_pages = count});
  EXPECT_EQ(calls, 0);
  const HostArena with({.size_bytes = kMiB, .lock = PageLock::kTry, .lock_pages = count});
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(with.warnings().empty());
}

TEST(HostArena, IsAnErrorWithBothNumbersWhereMemoryIsShort) {
  for (const std::uint64_t size : {100 * kMiB, std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
    try {
      HostArena arena({.size_bytes = size, .available_bytes = [] { return 64 * kMiB; }});
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), make_error_code(Errc::kDoesNotFit));
      EXPECT_EQ(error.context().wanted, size);
      EXPECT_EQ(error.context().got, 64 * kMiB);
      EXPECT_NE(std::string(error.what()).find("would fit"), std::string::npos);
    }
  }
}

// The size that the error offers is one that is then accepted.
TEST(HostArena, FitsInWhatItsErrorOffers) {
  const auto available = [] { return 64 * kMiB; };
  std::uint64_t offered = 0;
  try {
    HostArena arena({.size_bytes = 64 * kMiB, .available_bytes = available});
  } catch (const Error& error) {
    const std::string text = error.what();
    const std::string before = "a host memory of ";
    offered = std::stoull(text.substr(text.find(before) + before.size()));
  }
  EXPECT_GT(offered, 40 * kMiB);
  EXPECT_EQ(HostArena({.size_bytes = offered, .available_bytes = available}).bytes().size(),
            offered);
}

TEST(HostArena, AsksTheMachineWhatItHas) {
  EXPECT_THROW(HostArena({.size_bytes = std::uint64_t{1} << 50}), Error);
}

TEST(HostArena, IsAnErrorUnderAnAddressSpaceLimit) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs the address space itself";
#endif
  const ChildEnd end = run_in_child([] {
    const rlimit limit{256 * kMiB, 256 * kMiB};
    ::setrlimit(RLIMIT_AS, &limit);
    HostArena arena({.size_bytes = 300 * kMiB, .available_bytes = [] { return 1024 * kMiB; }});
    return std::string("no error");
  });
  EXPECT_EQ(end.exit_status, 1);
  EXPECT_NE(end.text.find("ulimit -v"), std::string::npos) << end.text;
  EXPECT_NE(end.text.find("ENOMEM"), std::string::npos) << end.text;
}

TEST(HostArena, GivesItsBytesToTheOneItIsMovedInto) {
  HostArena first({.size_bytes = kMiB});
  std::byte* const address = first.bytes().data();
  address[7] = std::byte{42};
  HostArena second(std::move(first));
  EXPECT_TRUE(first.bytes().empty());
  EXPECT_EQ(second.bytes().data(), address);
  HostArena third({.size_bytes = kMiB});
  third = std::move(second);
  EXPECT_EQ(third.bytes()[7], std::byte{42});
}

}  // namespace
}  // namespace ebbtide::tiers
