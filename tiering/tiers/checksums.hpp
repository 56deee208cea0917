// For --verify-offload: the xxh3 of every block that left for the swap files, kept by swap offset.
//
// Thread safety: all members may be called from any thread (one mutex, held for look-ups only).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "tiering/tiers/io_queue.hpp"

namespace ebbtide::tiers {

class Checksums {
 public:
  struct Mismatch {
    std::uint64_t offset = 0;  // in the swap space, bytes
    std::uint64_t size_bytes = 0;
    std::uint64_t written_xxh3 = 0;
    std::uint64_t read_xxh3 = 0;
  };

  static std::uint64_t sum(const IoRequest& block);
  // A block has been written; forgets what it covers, in whole or in part.
  void record(const IoRequest& block, std::uint64_t xxh3);
  // A block is about to be overwritten: nothing is known of these bytes until record().
  void forget(const IoRequest& block);
  // Checks every recorded block that lies in this one, which has just been read.
  std::optional<Mismatch> check(const IoRequest& block);

  std::uint64_t checked_bytes() const;    // compared so far
  std::uint64_t unchecked_bytes() const;  // read so far without a recorded block to compare with

 private:
  struct Entry {
    std::uint64_t size_bytes = 0;
    std::uint64_t xxh3 = 0;
  };

  void erase_overlapping(const IoRequest& block);
  std::vector<std::pair<std::uint64_t, Entry>> covered(const IoRequest& block) const;

  mutable std::mutex mutex_;               // guards all below
  std::map<std::uint64_t, Entry> blocks_;  // by offset; never overlapping
  std::uint64_t checked_bytes_ = 0;
  std::uint64_t unchecked_bytes_ = 0;
};

// A queue that records the sum of each request that it writes and checks each that it reads; a
// difference completes the job with kCorrupted, its offset and both sums.
std::unique_ptr<IoQueue> make_checked_queue(
    const SwapFiles& files, Checksums& checksums, OnComplete on_complete,
    const std::function<std::unique_ptr<IoQueue>(OnComplete)>& make_inner);

}  // namespace ebbtide::tiers
