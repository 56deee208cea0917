// The implementations that the contract suite runs over, and what a queue needs around it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/temporary_directory.hpp"
#include "tests/tiers/completions.hpp"
#include "tests/tiers/recorded_faults.hpp"
#include "tiering/tiers/checksums.hpp"
#include "tiering/tiers/host_arena.hpp"
#include "tiering/tiers/io_queue.hpp"
#include "tiering/tiers/swap_files.hpp"

namespace ebbtide::tiers {

using test::Medium;
using test::TemporaryDirectory;

struct QueueSetting {
  IoEngine engine = IoEngine::kThreads;
  OffloadCheck check = OffloadCheck::kNone;
  Medium medium = Medium::kDisk;
};

inline std::string setting_name(const QueueSetting& setting) {
  std::string name = setting.engine == IoEngine::kUring ? "Uring" : "Threads";
  if (setting.check == OffloadCheck::kChecksum) name += "Checked";
  return name + (setting.medium == Medium::kDisk ? "OnDisk" : "InMemory");
}

inline std::vector<QueueSetting> all_settings() {
  std::vector<QueueSetting> all;
  for (const IoEngine engine : {IoEngine::kUring, IoEngine::kThreads})
    for (const OffloadCheck check : {OffloadCheck::kNone, OffloadCheck::kChecksum})
      for (const Medium medium : {Medium::kDisk, Medium::kMemory})
        all.push_back({engine, check, medium});
  return all;
}

// Whether this machine refuses io_uring; tests that need it skip then, and say so.
inline bool uring_refused() {
  SwapFiles none({});
  try {
    make_io_queue(IoEngine::kUring, none, {}, [](JobId, const IoResult&) {});
    return false;
  } catch (const Error&) {
    return true;
  }
}

inline void fill_random(std::span<std::byte> bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + at, &word, 8);
  }
  for (; at < bytes.size(); ++at) bytes[at] = static_cast<std::byte>(random());
}

inline bool equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

// Swap files, an arena and the queues of one setting. The queues die first, the files last.
class QueueBench {
 public:
  QueueBench(const QueueSetting& setting, std::uint64_t size_bytes, SwapFilesOptions files = {},
             IoFaults* faults = nullptr, IoQueueOptions options = {})
      : directory_(setting.medium),
        files_(with(std::move(files), size_bytes)),
        arena_({.size_bytes = 2 * size_bytes}) {
    options.registered = arena_.bytes();
    options.faults = faults;
    options.checksums = setting.check == OffloadCheck::kChecksum ? &checksums_ : nullptr;
    queue_ = make_io_queue(setting.engine, files_, options, completions_.callback());
  }

  // Two halves: what is written, and what it is read back into.
  std::span<std::byte> source() { return arena_.bytes().first(arena_.bytes().size() / 2); }
  std::span<std::byte> target() { return arena_.bytes().last(arena_.bytes().size() / 2); }
  SwapFiles& files() { return files_; }
  IoQueue& queue() { return *queue_; }
  Completions& completions() { return completions_; }
  const TemporaryDirectory& directory() const { return directory_; }
  void end_queue() { queue_.reset(); }

  // One request at `offset`, from source() or into target() at the same offset.
  IoResult transfer(JobId job, IoDirection direction, std::uint64_t offset,
                    std::uint64_t size_bytes) {
    submit(job, direction, offset, size_bytes);
    return completions_.wait(job);
  }
  void submit(JobId job, IoDirection direction, std::uint64_t offset, std::uint64_t size_bytes) {
    auto memory = direction == IoDirection::kWrite ? source() : target();
    const IoRequest request{offset, memory.data() + offset, size_bytes};
    queue_->submit(job, direction, {&request, 1});
  }

 private:
  SwapFilesOptions with(SwapFilesOptions options, std::uint64_t size_bytes) {
    options.size_bytes = size_bytes;
    if (options.directories.empty()) options.directories = {directory_.path()};
    return options;
  }

  TemporaryDirectory directory_;
  SwapFiles files_;
  HostArena arena_;
  Checksums checksums_;
  Completions completions_;
  std::unique_ptr<IoQueue> queue_;
};

}  // namespace ebbtide::tiers
