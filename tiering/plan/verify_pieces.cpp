#include "tiering/plan/verify_pieces.hpp"

#include <algorithm>
#include <cstring>

namespace ebbtide::verifying {
namespace {

// The last of `count` ascending numbers that is not past `key`. Requires begins[0] <= key.
std::uint32_t last_not_past(const std::uint64_t* begins, std::uint32_t count, std::uint64_t key) {
  const std::uint64_t* base = begins;
  while (count > 1) {
    const std::uint32_t half = count / 2;
    base += base[half] <= key ? half : 0;
    count -= half;
  }
  return static_cast<std::uint32_t>(base - begins);
}

template <typename T>
void open_gap(T* items, std::uint32_t at, std::uint32_t count) {
  std::memmove(items + at + 1, items + at, (count - at) * sizeof(T));
}

template <typename T>
void close_gap(T* items, std::uint32_t at, std::uint32_t count) {
  std::memmove(items + at, items + at + 1, (count - at - 1) * sizeof(T));
}

}  // namespace

Pieces::Pieces(std::uint64_t size_bytes) {
  if (size_bytes == 0) return;
  Block block{};
  block.count = 1;
  block.begins[0] = 0;
  block.pieces[0] = store({.begin = 0, .end = size_bytes, .readers = {}});
  blocks_.push_back(block);
  block_begins_.push_back(0);
}

Pieces::Spot Pieces::find(std::uint64_t address) const {
  const auto blocks = static_cast<std::uint32_t>(block_begins_.size());
  const std::uint32_t block = last_not_past(block_begins_.data(), blocks, address);
  return {block, last_not_past(blocks_[block].begins, blocks_[block].count, address)};
}

Piece& Pieces::replace(std::uint64_t begin, std::uint64_t end) {
  Piece* piece = &at(begin);
  if (piece->begin != begin || piece->end != end) {
    split(begin);
    split(end);
    piece = &at(begin);
    if (piece->end != end) erase_from(piece->end, end);
  }
  *piece = {.begin = begin, .end = end, .readers = {}};
  return *piece;
}

// Cuts the piece around `address` in two, so that one begins there.
void Pieces::split(std::uint64_t address) {
  if (address == 0) return;
  const Spot spot = find(address - 1);
  Piece& left = pool_[spot.piece(*this)];
  if (left.end == address) return;
  left.value = kNobody;
  Piece right = left;
  right.begin = address;
  left.end = address;
  insert_after(spot, right);
}

void Pieces::insert_after(Spot spot, const Piece& piece) {
  const std::uint32_t id = store(piece);
  if (blocks_[spot.block].count == kBlockPieces) {
    Block upper{};
    Block& lower = blocks_[spot.block];
    upper.count = kBlockPieces / 2;
    lower.count = kBlockPieces - upper.count;
    std::copy_n(lower.begins + lower.count, upper.count, upper.begins);
    std::copy_n(lower.pieces + lower.count, upper.count, upper.pieces);
    blocks_.insert(blocks_.begin() + spot.block + 1, upper);
    block_begins_.insert(block_begins_.begin() + spot.block + 1, upper.begins[0]);
    if (spot.slot >= blocks_[spot.block].count) {
      spot.slot -= blocks_[spot.block].count;
      ++spot.block;
    }
  }
  Block& block = blocks_[spot.block];
  open_gap(block.begins, spot.slot + 1, block.count);
  open_gap(block.pieces, spot.slot + 1, block.count);
  block.begins[spot.slot + 1] = piece.begin;
  block.pieces[spot.slot + 1] = id;
  ++block.count;
}

// Takes out the pieces that tile [begin, end). The piece before them is the caller's to stretch.
void Pieces::erase_from(std::uint64_t begin, std::uint64_t end) {
  while (begin != end) {
    const Spot spot = find(begin);
    Block& block = blocks_[spot.block];
    const std::uint32_t id = block.pieces[spot.slot];
    begin = pool_[id].end;
    free_.push_back(id);
    close_gap(block.begins, spot.slot, block.count);
    close_gap(block.pieces, spot.slot, block.count);
    if (--block.count == 0) {
      drop_block(spot.block);
    } else {
      block_begins_[spot.block] = block.begins[0];
    }
  }
}

void Pieces::drop_block(std::uint32_t block) {
  blocks_.erase(blocks_.begin() + block);
  block_begins_.erase(block_begins_.begin() + block);
}

std::uint32_t Pieces::store(const Piece& piece) {
  if (free_.empty()) {
    pool_.push_back(piece);
    return static_cast<std::uint32_t>(pool_.size() - 1);
  }
  const std::uint32_t id = free_.back();
  free_.pop_back();
  pool_[id] = piece;
  return id;
}

}  // namespace ebbtide::verifying
