// A tier's address space as the verifier sees it: pieces side by side, each with what it holds and
// who touched it last.
//
// Not thread-safe.
//
// Invariants
//  1. Pieces tile [0, size) without gaps, in address order.
//  2. A piece that holds a value is that value whole: a piece that was cut holds nothing, but keeps
//     the accesses that its bytes had.
#pragma once

#include <cstdint>
#include <vector>

#include "tiering/plan/verify_clocks.hpp"

namespace ebbtide::verifying {

inline constexpr ValueId kNobody = ~ValueId{0};
// A home of a value that other programs of the run have.
inline constexpr ValueId kForeign = kNobody - 1;

struct Piece {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  ValueId value = kNobody;
  std::uint32_t version = 0;
  Wait writer{};    // finish of the last write; count 0: none this step
  Clock readers{};  // finishes of the reads since; the latest of a lane stands for those before it
};

class Pieces {
 public:
  explicit Pieces(std::uint64_t size_bytes);

  // The piece around an address. Requires address < size. Valid until the next replace().
  Piece& at(std::uint64_t address) { return pool_[find(address).piece(*this)]; }

  // Calls visit(piece) for every piece that meets [begin, end), in address order.
  template <typename Visit>
  void overlaps(std::uint64_t begin, std::uint64_t end, Visit visit) {
    for (Spot spot = find(begin); spot.block < blocks_.size(); spot.next(*this)) {
      Piece& piece = pool_[spot.piece(*this)];
      if (piece.begin >= end) return;
      visit(piece);
    }
  }

  // One fresh piece for [begin, end); what it cuts holds nothing any more.
  Piece& replace(std::uint64_t begin, std::uint64_t end);

 private:
  static constexpr std::uint32_t kBlockPieces = 64;
  struct Block {
    std::uint32_t count = 0;
    std::uint64_t begins[kBlockPieces];
    std::uint32_t pieces[kBlockPieces];
  };
  struct Spot {
    std::uint32_t block = 0;
    std::uint32_t slot = 0;
    std::uint32_t piece(const Pieces& in) const { return in.blocks_[block].pieces[slot]; }
    void next(const Pieces& in) {
      if (++slot < in.blocks_[block].count) return;
      ++block;
      slot = 0;
    }
  };

  Spot find(std::uint64_t address) const;
  void split(std::uint64_t address);
  void insert_after(Spot spot, const Piece& piece);
  void erase_from(std::uint64_t begin, std::uint64_t end);
  void drop_block(std::uint32_t block);
  std::uint32_t store(const Piece& piece);

  std::vector<std::uint64_t> block_begins_;  // first address of each block
  std::vector<Block> blocks_;
  std::vector<Piece> pool_;
  std::vector<std::uint32_t> free_;
};

}  // namespace ebbtide::verifying
