// What every queue promises, run over each implementation, with and without checksums, on a disk
// and in memory. In memory nothing is refused for its alignment, so only the disk proves that.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <random>
#include <thread>

#include "ebbtide/types.hpp"
#include "tests/tiers/queue_setting.hpp"

namespace ebbtide::tiers {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kSpaceBytes = 8 * kMiB;

class IoQueueContract : public testing::TestWithParam<QueueSetting> {
 protected:
  void SetUp() override {
    if (GetParam().engine == IoEngine::kUring && uring_refused())
      GTEST_SKIP() << "io_uring is refused on this machine";
  }
};

INSTANTIATE_TEST_SUITE_P(Each, IoQueueContract, testing::ValuesIn(all_settings()),
                         [](const auto& each) { return setting_name(each.param); });

TEST_P(IoQueueContract, ReadsBackWhatItWrote) {
  QueueBench bench(GetParam(), kSpaceBytes);
  fill_random(bench.source(), 1);
  EXPECT_FALSE(bench.transfer(1, IoDirection::kWrite, 0, kSpaceBytes).error);
  EXPECT_FALSE(bench.transfer(2, IoDirection::kRead, 0, kSpaceBytes).error);
  EXPECT_TRUE(equal(bench.source(), bench.target()));
  if (GetParam().medium == Medium::kDisk) {
    EXPECT_TRUE(bench.files().direct(0)) << "the scratch directory should be on a disk";
    EXPECT_TRUE(bench.queue().warnings().empty()) << bench.queue().warnings().front();
  }
}

TEST_P(IoQueueContract, MovesMemoryThatIsNotRegistered) {
  QueueBench bench(GetParam(), kSpaceBytes);
  HostArena other({.size_bytes = 2 * kSpaceBytes});
  const auto source = other.bytes().first(kSpaceBytes);
  const auto target = other.bytes().last(kSpaceBytes);
  fill_random(source, 2);
  const IoRequest write{0, source.data(), kSpaceBytes};
  const IoRequest read{0, target.data(), kSpaceBytes};
  bench.queue().submit(1, IoDirection::kWrite, {&write, 1});
  EXPECT_FALSE(bench.completions().wait(1).error);
  bench.queue().submit(2, IoDirection::kRead, {&read, 1});
  EXPECT_FALSE(bench.completions().wait(2).error);
  EXPECT_TRUE(equal(source, target));
}

// docs/faults.md F1: a tail that is no multiple of the sector is neither lost nor does it spill
// over.
TEST_P(IoQueueContract, CarriesPayloadsOfAnySizeInTheirExtents) {
  const std::uint64_t sizes[] = {1, 511, 512, 513, 4095, 4097, 28'824'000};
  std::uint64_t space_bytes = 0;
  for (const std::uint64_t size : sizes) space_bytes += extent(size, Tier::kNvme);
  QueueBench bench(GetParam(), space_bytes);
  fill_random(bench.source(), 3);
  JobId job = 0;
  std::uint64_t offset = 0;
  for (const std::uint64_t size : sizes) {
    bench.submit(++job, IoDirection::kWrite, offset, extent(size, Tier::kNvme));
    offset += extent(size, Tier::kNvme);
  }
  bench.queue().drain();
  offset = 0;
  for (const std::uint64_t size : sizes) {
    const std::uint64_t extent_bytes = extent(size, Tier::kNvme);
    std::ranges::fill(bench.target(), std::byte{0xFF});
    ASSERT_FALSE(bench.transfer(++job, IoDirection::kRead, offset, extent_bytes).error) << size;
    EXPECT_TRUE(equal(bench.target().subspan(offset, size), bench.source().subspan(offset, size)));
    const auto poisoned = [](std::byte byte) { return byte == std::byte{0xFF}; };
    EXPECT_TRUE(std::ranges::all_of(bench.target().first(offset), poisoned)) << size;
    EXPECT_TRUE(std::ranges::all_of(bench.target().subspan(offset + extent_bytes), poisoned));
    offset += extent_bytes;
  }
}

TEST_P(IoQueueContract, CompletesEveryJobOnceWhateverItsShape) {
  constexpr std::uint64_t kPages = kSpaceBytes / kPageAlignment;
  QueueBench bench(GetParam(), kSpaceBytes, {}, nullptr, {.block_bytes = 4 * kPageAlignment});
  fill_random(bench.source(), 4);
  // Jobs of several requests, which cover the space once, in a random order of pages.
  std::mt19937_64 random(4);
  std::vector<std::uint64_t> pages(kPages);
  for (std::uint64_t page = 0; page < kPages; ++page) pages[page] = page;
  std::ranges::shuffle(pages, random);
  for (const IoDirection direction : {IoDirection::kWrite, IoDirection::kRead}) {
    auto memory = direction == IoDirection::kWrite ? bench.source() : bench.target();
    const JobId base = direction == IoDirection::kWrite ? 0 : 10'000;
    JobId jobs = 0;
    for (std::size_t at = 0; at < kPages;) {
      const std::size_t count = std::min<std::size_t>(random() % 9, kPages - at);  // 0 too
      std::vector<IoRequest> requests;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t offset = pages[at + i] * kPageAlignment;
        requests.push_back({offset, memory.data() + offset, kPageAlignment});
      }
      bench.queue().submit(base + jobs++, direction, requests);
      at += count;
    }
    bench.queue().drain();
    for (JobId job = 0; job < jobs; ++job) EXPECT_EQ(bench.completions().times_told(base + job), 1);
  }
  EXPECT_EQ(bench.completions().failures(), 0);
  EXPECT_TRUE(equal(bench.source(), bench.target()));
}

// docs/faults.md F10: waiting with nothing pending.
TEST_P(IoQueueContract, HasNothingToDrainBeforeAndAfterAJob) {
  QueueBench bench(GetParam(), kSpaceBytes);
  bench.queue().drain();
  bench.queue().submit(7, IoDirection::kWrite, {});
  EXPECT_FALSE(bench.completions().wait(7).error);
  bench.queue().drain();
  const IoRequest nothing{0, bench.source().data(), 0};
  bench.queue().submit(8, IoDirection::kRead, {&nothing, 1});
  EXPECT_FALSE(bench.completions().wait(8).error);
  bench.queue().drain();
  EXPECT_EQ(bench.completions().times_told(7) + bench.completions().times_told(8), 2);
}

// docs/faults.md F10: an exception between submit and wait. The arena outlives the queue only if
// the queue is drained before it is gone.
TEST_P(IoQueueContract, DrainsWhenItEndsWithJobsPending) {
  using namespace std::chrono_literals;
  RecordedFaults slow([](const KernelTransfer&, std::size_t) { return IoFault{.delay = 20ms}; });
  QueueBench bench(GetParam(), kSpaceBytes, {}, &slow);
  for (JobId job = 0; job < 32; ++job)
    bench.submit(job, IoDirection::kWrite, job % 8 * kMiB, 64 * 1024);
  bench.end_queue();
  for (JobId job = 0; job < 32; ++job) EXPECT_EQ(bench.completions().times_told(job), 1) << job;
  EXPECT_EQ(slow.transfers().size(), 32);
}

// liburing#498: more jobs than entries.
TEST_P(IoQueueContract, TakesSixtyFourJobsAtDepthOne) {
  QueueBench bench(GetParam(), kSpaceBytes, {}, nullptr, {.depth = 1});
  fill_random(bench.source(), 5);
  constexpr std::uint64_t kJobBytes = kSpaceBytes / 64;
  for (JobId job = 0; job < 64; ++job)
    bench.submit(job, IoDirection::kWrite, job * kJobBytes, kJobBytes);
  bench.queue().drain();
  for (JobId job = 0; job < 64; ++job)
    bench.submit(100 + job, IoDirection::kRead, job * kJobBytes, kJobBytes);
  bench.queue().drain();
  EXPECT_EQ(bench.completions().failures(), 0);
  EXPECT_TRUE(equal(bench.source(), bench.target()));
}

TEST_P(IoQueueContract, GivesTheKernelNoMoreThanItsDepthAtOnce) {
  using namespace std::chrono_literals;
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  RecordedFaults counted([&](const KernelTransfer&, std::size_t) {
    const int now = ++running;  // under the record's mutex
    if (now > most) most = now;
    return IoFault{.delay = 1ms};
  });
  TemporaryDirectory directory(GetParam().medium);
  SwapFiles files({.size_bytes = kSpaceBytes, .directories = {directory.path()}});
  HostArena arena({.size_bytes = kSpaceBytes});
  // Jobs of one block each: a job is told before its place is given to the next.
  auto queue = make_io_queue(GetParam().engine, files, {.depth = 3, .faults = &counted},
                             [&](JobId, const IoResult&) { --running; });
  for (JobId job = 0; job < 64; ++job) {
    const IoRequest request{job * 4096, arena.bytes().data() + job * 4096, 4096};
    queue->submit(job, IoDirection::kWrite, {&request, 1});
  }
  queue->drain();
  EXPECT_LE(most, 3);
  EXPECT_EQ(running, 0);
}

// docs/faults.md F3: the seam reports half of each 7th transfer, here also of writes.
TEST_P(IoQueueContract, ResumesAShortTransferFromWhereItEnded) {
  RecordedFaults halves([](const KernelTransfer& transfer, std::size_t number) {
    return number % 7 == 0 ? IoFault{.report_bytes = transfer.size_bytes / 2} : IoFault{};
  });
  QueueBench bench(GetParam(), kSpaceBytes, {}, &halves, {.block_bytes = 5 * 4096});
  fill_random(bench.source(), 6);
  EXPECT_FALSE(bench.transfer(1, IoDirection::kWrite, 0, kSpaceBytes).error);
  EXPECT_FALSE(bench.transfer(2, IoDirection::kRead, 0, kSpaceBytes).error);
  EXPECT_TRUE(equal(bench.source(), bench.target()));
  EXPECT_GT(halves.transfers().size(), 2 * kSpaceBytes / (5 * 4096) * 8 / 7);
}

// A short count need not be a multiple of anything; what O_DIRECT is asked for next must be.
TEST_P(IoQueueContract, KeepsTheAlignmentAfterAnOddShortCount) {
  RecordedFaults odd([](const KernelTransfer& transfer, std::size_t number) {
    const bool shortened = number % 3 == 0 && transfer.size_bytes > 4096;
    return shortened ? IoFault{.report_bytes = transfer.size_bytes * 2 / 3 + 1} : IoFault{};
  });
  QueueBench bench(GetParam(), kSpaceBytes, {}, &odd, {.block_bytes = 64 * 1024});
  fill_random(bench.source(), 7);
  EXPECT_FALSE(bench.transfer(1, IoDirection::kWrite, 0, kSpaceBytes).error);
  EXPECT_FALSE(bench.transfer(2, IoDirection::kRead, 0, kSpaceBytes).error);
  EXPECT_TRUE(equal(bench.source(), bench.target()));
  for (const KernelTransfer& transfer : odd.transfers()) {
    const auto address = reinterpret_cast<std::uintptr_t>(transfer.memory);
    ASSERT_EQ(
        (transfer.offset | transfer.size_bytes | address) % bench.files().alignment(transfer.file),
        0);
  }
}

// docs/faults.md F3: the file ends early, in the middle of a block or before it.
TEST_P(IoQueueContract, FailsWhereTheFileEndsEarly) {
  for (const std::uint64_t end : {kSpaceBytes / 2, kSpaceBytes / 2 + 1000, std::uint64_t{0}}) {
    QueueBench bench(GetParam(), kSpaceBytes);
    ASSERT_FALSE(bench.transfer(1, IoDirection::kWrite, 0, kSpaceBytes).error);
    ASSERT_EQ(::ftruncate(bench.files().descriptor(0), static_cast<off_t>(end)), 0);
    const IoResult result = bench.transfer(2, IoDirection::kRead, 0, kSpaceBytes);
    ASSERT_TRUE(result.error) << end;
    EXPECT_EQ(result.error.value(), EIO);
    EXPECT_GE(result.offset, end / 4096 * 4096);
    EXPECT_EQ(result.wanted, kMiB);
    EXPECT_LT(result.got, result.wanted);
    EXPECT_EQ(result.path, bench.files().path(0));
    const std::string text = io_error(IoDirection::kRead, result).what();
    EXPECT_NE(text.find(fmt::format("at offset {}, wanted {} bytes, got {}", result.offset,
                                    result.wanted, result.got)),
              std::string::npos)
        << text;
  }
}

TEST_P(IoQueueContract, CarriesErrnoOffsetAndLengthOfTheFirstFailure) {
  RecordedFaults full([](const KernelTransfer& transfer, std::size_t) {
    return transfer.offset == 3 * kMiB ? IoFault{.error = ENOSPC} : IoFault{};
  });
  QueueBench bench(GetParam(), kSpaceBytes, {}, &full);
  const IoResult result = bench.transfer(1, IoDirection::kWrite, 0, kSpaceBytes);
  EXPECT_EQ(result.error, std::error_code(ENOSPC, std::system_category()));
  EXPECT_EQ(result.offset, 3 * kMiB);
  EXPECT_EQ(result.wanted, kMiB);
  EXPECT_EQ(result.got, 0);
  EXPECT_EQ(bench.completions().times_told(1), 1);
  EXPECT_FALSE(bench.transfer(2, IoDirection::kWrite, 0, kMiB).error) << "the queue goes on";
}

TEST_P(IoQueueContract, TriesAgainAfterEintrAndEagain) {
  std::map<std::pair<IoDirection, std::uint64_t>, int> attempts;  // under the record's mutex
  RecordedFaults restless([&](const KernelTransfer& transfer, std::size_t) {
    const int attempt = ++attempts[{transfer.direction, transfer.offset}];
    return attempt > 2 ? IoFault{} : IoFault{.error = attempt == 1 ? EINTR : EAGAIN};
  });
  QueueBench bench(GetParam(), kSpaceBytes, {}, &restless);
  fill_random(bench.source(), 8);
  EXPECT_FALSE(bench.transfer(1, IoDirection::kWrite, 0, kSpaceBytes).error);
  EXPECT_FALSE(bench.transfer(2, IoDirection::kRead, 0, kSpaceBytes).error);
  EXPECT_TRUE(equal(bench.source(), bench.target()));
}

TEST_P(IoQueueContract, GivesUpOnWhatNeverMoves) {
  for (const IoFault fault :
       {IoFault{.error = EAGAIN}, IoFault{.report_bytes = 0}, IoFault{.report_bytes = 100}}) {
    RecordedFaults stuck([&](const KernelTransfer&, std::size_t) { return fault; });
    SwapFilesOptions aligned{.forced_alignment = 4096};
    if (fault.report_bytes == 100 && GetParam().medium == Medium::kMemory) continue;
    QueueBench bench(GetParam(), kSpaceBytes, std::move(aligned), &stuck);
    const IoResult result = bench.transfer(1, IoDirection::kWrite, 0, 4096);
    EXPECT_EQ(result.error.value(), fault.error == EAGAIN ? EAGAIN : EIO);
    EXPECT_FALSE(result.detail.empty());
  }
}

TEST_P(IoQueueContract, RefusesWhatIsNotAlignedOrNotInTheSpace) {
  QueueBench bench(GetParam(), kSpaceBytes);
  std::byte* const memory = bench.source().data();
  const IoRequest bad[] = {{1, memory, 4096},
                           {0, memory + 8, 4096},
                           {0, memory, 100},
                           {kSpaceBytes, memory, 4096},
                           {kSpaceBytes - 4096, memory, 8192},
                           {4096, memory, ~std::uint64_t{0} / 4096 * 4096}};
  for (const IoRequest& request : bad)
    EXPECT_THROW(bench.queue().submit(1, IoDirection::kWrite, {&request, 1}), ContractViolation);
  bench.queue().drain();
  EXPECT_EQ(bench.completions().times_told(1), 0);
  EXPECT_FALSE(bench.transfer(2, IoDirection::kWrite, 0, 4096).error);
}

TEST_P(IoQueueContract, MovesJobsWhoseTransfersEndInAnyOrder) {
  using namespace std::chrono_literals;
  std::mt19937_64 random(9);
  RecordedFaults uneven([&](const KernelTransfer&, std::size_t) {
    return IoFault{.delay = std::chrono::microseconds(random() % 3000)};
  });
  QueueBench bench(GetParam(), kSpaceBytes, {}, &uneven, {.block_bytes = 32 * 1024, .depth = 8});
  fill_random(bench.source(), 9);
  for (JobId job = 0; job < 16; ++job)
    bench.submit(job, IoDirection::kWrite, job * kMiB / 2, kMiB / 2);
  bench.queue().drain();
  for (JobId job = 0; job < 16; ++job)
    bench.submit(100 + job, IoDirection::kRead, job * kMiB / 2, kMiB / 2);
  bench.queue().drain();
  EXPECT_EQ(bench.completions().failures(), 0);
  EXPECT_TRUE(equal(bench.source(), bench.target()));
}

TEST_P(IoQueueContract, StripesOverSeveralFiles) {
  TemporaryDirectory second(GetParam().medium);
  TemporaryDirectory third(GetParam().medium);
  RecordedFaults record;
  SwapFilesOptions striped{.directories = {second.path(), third.path(), second.path()},
                           .stripe_bytes = 64 * 1024};
  QueueBench bench(GetParam(), kSpaceBytes, std::move(striped), &record);
  fill_random(bench.source(), 10);
  EXPECT_FALSE(bench.transfer(1, IoDirection::kWrite, 0, kSpaceBytes).error);
  EXPECT_FALSE(bench.transfer(2, IoDirection::kRead, 0, kSpaceBytes).error);
  EXPECT_TRUE(equal(bench.source(), bench.target()));
  std::uint64_t moved[3] = {};
  for (const KernelTransfer& transfer : record.transfers())
    moved[transfer.file] += transfer.size_bytes;
  for (const std::uint64_t bytes : moved) EXPECT_NEAR(bytes, 2 * kSpaceBytes / 3.0, 128 * 1024);
}

// docs/faults.md F8: every address, offset and length is a multiple of what the file asks for.
TEST_P(IoQueueContract, AsksOnlyForAlignedTransfers) {
  for (const std::uint32_t alignment : {512U, 4096U}) {
    RecordedFaults odd([](const KernelTransfer& transfer, std::size_t number) {
      const bool shortened = number % 2 != 0 && transfer.size_bytes > 4096;
      return shortened ? IoFault{.report_bytes = transfer.size_bytes * 3 / 4 + 7} : IoFault{};
    });
    QueueBench bench(GetParam(), kSpaceBytes, {.forced_alignment = alignment}, &odd,
                     {.block_bytes = 12 * 1024});
    fill_random(bench.source(), alignment);
    std::uint64_t offset = 0;
    JobId job = 0;
    for (const std::uint64_t size :
         {std::uint64_t{1}, std::uint64_t{4095}, std::uint64_t{5000}, kMiB + 1}) {
      const std::uint64_t bytes = extent(size, Tier::kNvme);
      EXPECT_FALSE(bench.transfer(++job, IoDirection::kWrite, offset, bytes).error);
      EXPECT_FALSE(bench.transfer(++job, IoDirection::kRead, offset, bytes).error);
      offset += bytes;
    }
    EXPECT_TRUE(equal(bench.source().first(offset), bench.target().first(offset)));
    for (const KernelTransfer& transfer : odd.transfers()) {
      const auto address = reinterpret_cast<std::uintptr_t>(transfer.memory);
      ASSERT_EQ((transfer.offset | transfer.size_bytes | address) % alignment, 0);
    }
  }
}

// docs/faults.md F8: where O_DIRECT is refused, the page cache serves.
TEST_P(IoQueueContract, MovesTheSameBytesWithoutDirectIo) {
  SwapFilesOptions buffered{.enable_direct = [](int) { return EINVAL; }};
  QueueBench bench(GetParam(), kSpaceBytes, std::move(buffered));
  EXPECT_FALSE(bench.files().direct(0));
  fill_random(bench.source(), 11);
  EXPECT_FALSE(bench.transfer(1, IoDirection::kWrite, 0, kSpaceBytes).error);
  EXPECT_FALSE(bench.transfer(2, IoDirection::kRead, 0, kSpaceBytes).error);
  EXPECT_TRUE(equal(bench.source(), bench.target()));
}

TEST_P(IoQueueContract, TakesJobsFromAnyThreadWhileItTellsOthers) {
  QueueBench bench(GetParam(), kSpaceBytes, {}, nullptr, {.block_bytes = 8192, .depth = 4});
  fill_random(bench.source(), 12);
  constexpr std::uint64_t kJobBytes = 16 * 1024;
  constexpr JobId kJobs = kSpaceBytes / kJobBytes;
  for (const IoDirection direction : {IoDirection::kWrite, IoDirection::kRead}) {
    std::thread other([&] {
      for (JobId job = 0; job < kJobs; job += 2)
        bench.submit(job, direction, job * kJobBytes, kJobBytes);
    });
    for (JobId job = 1; job < kJobs; job += 2)
      bench.submit(job, direction, job * kJobBytes, kJobBytes);
    other.join();
    bench.queue().drain();
  }
  EXPECT_EQ(bench.completions().failures(), 0);
  for (JobId job = 0; job < kJobs; ++job) EXPECT_EQ(bench.completions().times_told(job), 2);
  EXPECT_TRUE(equal(bench.source(), bench.target()));
}

}  // namespace
}  // namespace ebbtide::tiers
