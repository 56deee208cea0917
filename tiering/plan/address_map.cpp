#include "tiering/plan/address_map.hpp"

#include <algorithm>
#include <utility>

#include "ebbtide/error.hpp"

namespace ebbtide::planning {

AddressMap::AddressMap(std::uint64_t begin, std::uint64_t end) {
  if (end > begin) {
    order_.push_back(new_block(begin, end - begin));
    offer(order_.back());
  }
}

BlockId AddressMap::new_block(std::uint64_t begin, std::uint64_t size) {
  BlockId id = static_cast<BlockId>(blocks_.size());
  if (spare_.empty()) {
    blocks_.emplace_back();
  } else {
    id = spare_.back();
    spare_.pop_back();
  }
  blocks_[id] = Block{};
  blocks_[id].begin = begin;
  blocks_[id].size = size;
  return id;
}

void AddressMap::drop_block(BlockId id) {
  blocks_[id].size = 0;
  spare_.push_back(id);
}

void AddressMap::offer(BlockId id) { free_by_size_[blocks_[id].size].push_back(id); }

BlockId AddressMap::add_fixed(std::uint64_t begin, std::uint64_t size, ValueId value) {
  const BlockId id = new_block(begin, size);
  blocks_[id].value = value;
  return id;
}

BlockId AddressMap::find_exact(std::uint64_t size, StepId unused_since) {
  const auto found = free_by_size_.find(size);
  if (found == free_by_size_.end()) return kNone;
  std::vector<BlockId>& offers = found->second;
  // Offers go stale when a window swallows their block; they are dropped as they are met.
  for (std::size_t i = offers.size(); i-- > 0;) {
    const Block& candidate = blocks_[offers[i]];
    if (!candidate.free() || candidate.size != size) {
      offers[i] = offers.back();
      offers.pop_back();
    } else if (!candidate.was_used || candidate.last_step < unused_since) {
      return offers[i];
    }
  }
  return kNone;
}

void AddressMap::claim(BlockId id, ValueId value, std::vector<Touches>& old) {
  Block& block = blocks_[id];
  if (block.was_used) old.push_back(std::move(block.touches));
  block.touches = {};
  block.value = value;
  block.was_used = true;
  block.has_content = false;
  used_bytes_ += block.size;
  peak_used_bytes_ = std::max(peak_used_bytes_, used_bytes_);
  highest_end_ = std::max(highest_end_, block.end());
}

void AddressMap::release(BlockId id) {
  used_bytes_ -= blocks_[id].size;
  blocks_[id].value = kNone;
  offer(id);
}

BlockId AddressMap::place(const Window& window, ValueId value, std::uint64_t size,
                          std::vector<Touches>& old) {
  const std::uint64_t left_over = window.bytes - size;
  const std::uint64_t begin = blocks_[order_[window.first]].begin;
  // Minimal windows: what is left over lies within the last block.
  EBBTIDE_CHECK(left_over < blocks_[order_[window.last]].size || window.first == window.last,
                "the window is larger than it must be");
  const BlockId placed = new_block(begin, size);
  if (left_over > 0) {
    const BlockId rest = order_[window.last];
    Block& split = blocks_[rest];
    if (split.was_used) old.push_back(split.touches);
    split.begin += split.size - left_over;
    split.size = left_over;
    offer(rest);
  }
  const std::size_t whole_end = window.last + (left_over > 0 ? 0 : 1);
  for (std::size_t i = window.first; i < whole_end; ++i) {
    Block& covered = blocks_[order_[i]];
    if (covered.was_used) old.push_back(std::move(covered.touches));
    drop_block(order_[i]);
  }
  if (whole_end == window.first) {
    order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(window.first), placed);
  } else {
    order_[window.first] = placed;
    order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(window.first) + 1,
                 order_.begin() + static_cast<std::ptrdiff_t>(whole_end));
  }
  std::vector<Touches> none;
  claim(placed, value, none);
  return placed;
}

Window AddressMap::slide(const Window& window, NodeId mover, StepId step,
                         std::vector<Segment>& moves, std::vector<Touches>& old) {
  std::vector<BlockId> tenants;
  std::uint64_t at = blocks_[order_[window.first]].begin;
  const std::uint64_t end = blocks_[order_[window.last]].end();
  for (std::size_t i = window.first; i <= window.last; ++i) {
    const BlockId id = order_[i];
    Block& block = blocks_[id];
    if (block.free()) {
      if (block.was_used) old.push_back(std::move(block.touches));
      drop_block(id);
      continue;
    }
    tenants.push_back(id);
    if (block.begin != at) {
      old.push_back(std::exchange(block.touches, {mover, kNone, {}}));
      if (block.has_content) moves.push_back({block.begin, at, block.value});
      block.begin = at;
      block.last_step = std::max(block.last_step, step);
    }
    at += block.size;
  }
  const BlockId rest = new_block(at, end - at);
  blocks_[rest].was_used = true;
  blocks_[rest].last_step = step;
  blocks_[rest].touches = {mover, kNone, {}};
  tenants.push_back(rest);
  const auto first = order_.begin() + static_cast<std::ptrdiff_t>(window.first);
  order_.erase(first, order_.begin() + static_cast<std::ptrdiff_t>(window.last) + 1);
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(window.first), tenants.begin(),
                tenants.end());
  const std::size_t rest_at = window.first + tenants.size() - 1;
  return {rest_at, rest_at, end - at};
}

}  // namespace ebbtide::planning
