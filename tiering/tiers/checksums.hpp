// For --verify-offload: the xxh3 of everything that left for the swap files, by swap offset.
//
// A block that is written is summed up in pieces of kPieceBytes from its start on, so that it can
// be checked when it comes back whole, and as well when it comes back in parts that begin and end
// between pieces, as homes do that are read between steps.
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

  static constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;
  static std::uint64_t pieces(std::uint64_t size_bytes) {
    return (size_bytes + kPieceBytes - 1) / kPieceBytes;
  }
  static std::uint64_t sum(const IoRequest& block);

  // Makes room, so that nothing is allocated while as many pieces are recorded, and the same pieces
  // again and again.
  void reserve(std::size_t pieces);
  // Memory that `pieces` recorded and as many reserved take.
  static std::uint64_t memory_bytes(std::uint64_t pieces);

  // A block is about to be written; what it covers, in whole or in part, is forgotten.
  void record(const IoRequest& block);
  // Nothing is known of these bytes from now on: writing them has failed.
  void forget(const IoRequest& block);
  // Checks every recorded piece that lies in this block, which has just been read.
  std::optional<Mismatch> check(const IoRequest& block);

  std::uint64_t checked_bytes() const;    // compared so far
  std::uint64_t unchecked_bytes() const;  // read so far without a recorded piece to compare with

 private:
  struct Entry {
    std::uint64_t size_bytes = 0;
    std::uint64_t xxh3 = 0;
  };
  using Pieces = std::map<std::uint64_t, Entry>;  // by offset; never overlapping

  void record_piece(const IoRequest& piece);
  void erase_overlapping(const IoRequest& block);
  void add_spare();
  // The first piece recorded in [begin, end).
  std::optional<std::pair<std::uint64_t, Entry>> next(std::uint64_t begin, std::uint64_t end) const;

  mutable std::mutex mutex_;  // guards all below
  Pieces pieces_;
  std::vector<Pieces::node_type> spare_;  // of pieces forgotten, for pieces to come
  std::uint64_t checked_bytes_ = 0;
  std::uint64_t unchecked_bytes_ = 0;
};

// A queue that records each request that it writes and checks each that it reads; a difference
// completes the job with kCorrupted, its offset and both sums. Allocates nothing beyond what
// reserve() of both has made room for.
std::unique_ptr<IoQueue> make_checked_queue(
    const SwapFiles& files, Checksums& checksums, OnComplete on_complete,
    const std::function<std::unique_ptr<IoQueue>(OnComplete)>& make_inner);

}  // namespace ebbtide::tiers
