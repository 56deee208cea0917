#include "tiering/plan/address_map.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ebbtide/error.hpp"

namespace ebbtide::planning {

void Touches::absorb(Touches from) {
  if (readers.empty())
    readers = std::move(from.readers);
  else
    readers.insert(readers.end(), from.readers.begin(), from.readers.end());
  for (const NodeId node : {from.writer, from.last_op})
    if (node != kNone && node != writer && node != last_op) readers.push_back(node);
}

AddressMap::AddressMap(std::uint64_t begin, std::uint64_t end) {
  if (end > begin) {
    space_bytes_ = end - begin;
    order_.push_back(new_block(begin, end - begin));
    offer(order_.back());
  }
}

BlockId AddressMap::new_block(std::uint64_t begin, std::uint64_t size) {
  BlockId id = static_cast<BlockId>(blocks_.size());
  if (spare_.empty()) {
    blocks_.emplace_back();
    touches_.emplace_back();
  } else {
    id = spare_.back();
    spare_.pop_back();
  }
  blocks_[id] = Block{};
  touches_[id] = Touches{};
  blocks_[id].begin = begin;
  blocks_[id].size = size;
  return id;
}

void AddressMap::drop_block(BlockId id) {
  blocks_[id].size = 0;
  spare_.push_back(id);
}

void AddressMap::offer(BlockId id) {
  free_by_size_[blocks_[id].size].push_back(id);
}

BlockId AddressMap::add_fixed(std::uint64_t begin, std::uint64_t size, ValueId value) {
  const BlockId id = new_block(begin, size);
  blocks_[id].value = value;
  return id;
}

BlockId AddressMap::find_free(std::uint64_t size, StepId unused_since, double time_s) {
  for (auto at = free_by_size_.lower_bound(size); at != free_by_size_.end();) {
    std::vector<BlockId>& offers = at->second;
    // Offers go stale when a window swallows their block; they are dropped as they are met.
    for (std::size_t i = offers.size(); i-- > 0;) {
      const Block& candidate = blocks_[offers[i]];
      if (!candidate.free() || candidate.size != at->first) {
        offers[i] = offers.back();
        offers.pop_back();
      } else if (candidate.unused_from() <= unused_since && candidate.available_s <= time_s) {
        return offers[i];
      }
    }
    at = offers.empty() ? free_by_size_.erase(at) : std::next(at);
  }
  return kNone;
}

Window AddressMap::window_of(BlockId id) const {
  const auto at = std::lower_bound(
      order_.begin(), order_.end(), blocks_[id].begin,
      [this](BlockId other, std::uint64_t begin) { return blocks_[other].begin < begin; });
  const auto position = static_cast<std::size_t>(at - order_.begin());
  return {position, position, blocks_[id].size};
}

void AddressMap::claim(BlockId id, ValueId value) {
  Block& block = blocks_[id];
  block.value = value;
  block.has_content = false;
  block.pinned_at = kNone;
  block.available_s = 0;
  used_bytes_ += block.size;
  peak_used_bytes_ = std::max(peak_used_bytes_, used_bytes_);
  highest_end_ = std::max(highest_end_, block.end());
}

void AddressMap::release(BlockId id) {
  used_bytes_ -= blocks_[id].size;
  blocks_[id].value = kNone;
  offer(id);
}

BlockId AddressMap::place(const Window& window, ValueId value, std::uint64_t size) {
  const std::uint64_t left_over = window.bytes - size;
  EBBTIDE_CHECK(left_over < blocks_[order_[window.last]].size,
                "the window is larger than it must be");
  const BlockId placed = new_block(blocks_[order_[window.first]].begin, size);
  Block& tenant = blocks_[placed];
  for (std::size_t i = window.first; i <= window.last; ++i) {
    const Block& old = blocks_[order_[i]];
    touches_[placed].absorb(touches_[order_[i]]);
    tenant.was_used = tenant.was_used || old.was_used;
    tenant.last_step = std::max(tenant.last_step, old.last_step);
  }
  const BlockId rest = order_[window.last];
  if (left_over > 0) {
    blocks_[rest].begin += blocks_[rest].size - left_over;
    blocks_[rest].size = left_over;
    offer(rest);
  }
  const std::size_t whole_end = window.last + (left_over > 0 ? 0 : 1);
  for (std::size_t i = window.first; i < whole_end; ++i) drop_block(order_[i]);
  const auto first = order_.begin() + static_cast<std::ptrdiff_t>(window.first);
  if (left_over == 0 && window.first == window.last) {
    *first = placed;
  } else if (whole_end == window.first) {
    order_.insert(first, placed);
  } else {
    *first = placed;
    order_.erase(first + 1, order_.begin() + static_cast<std::ptrdiff_t>(whole_end));
  }
  claim(placed, value);
  return placed;
}

Window AddressMap::easiest_to_slide(std::uint64_t size) const {
  Window best;
  const auto yields = [](const Block& block) { return block.free() || block.leaving; };
  std::uint64_t fewest = ~std::uint64_t{0};
  std::uint64_t free_inside = 0;
  std::uint64_t occupied = 0;
  std::size_t first = 0;
  for (std::size_t last = 0; last < order_.size(); ++last) {
    const Block& tail = blocks_[order_[last]];
    (yields(tail) ? free_inside : occupied) += tail.size;
    for (; first < last; ++first) {
      const Block& head = blocks_[order_[first]];
      if (free_inside - (yields(head) ? head.size : 0) < size) break;
      (yields(head) ? free_inside : occupied) -= head.size;
    }
    if (free_inside < size || occupied >= fewest) continue;
    fewest = occupied;
    best = {first, last, free_inside + occupied};
  }
  return best;
}

bool AddressMap::has_content_to_slide(const Window& window) const {
  const std::vector<Slid> all = slid(window);
  return std::any_of(all.begin(), all.end(), [](const Slid& block) { return block.copied; });
}

std::vector<AddressMap::Slid> AddressMap::slid(const Window& window) const {
  std::vector<Slid> all;
  std::uint64_t at = blocks_[order_[window.first]].begin;
  for (std::size_t i = window.first; i <= window.last; ++i) {
    const BlockId id = order_[i];
    const Block& block = blocks_[id];
    all.push_back({id, block.begin, block.end(), block.free() ? block.begin : at, false});
    if (block.free()) continue;
    all.back().copied = block.has_content && block.begin != at;
    at += block.size;
  }
  return all;
}

Touches AddressMap::touches_of_slide(const Window& window) const {
  const std::vector<Slid> all = slid(window);
  Touches before;
  for (const Slid& from : all) {
    if (!from.copied) continue;
    before.absorb({touches_[from.id].writer, kNone, {}});
    const std::uint64_t to_end = from.to + (from.end - from.begin);
    for (const Slid& under : all)
      if (under.begin < to_end && under.end > from.to) before.absorb(touches_[under.id]);
  }
  return before;
}

// Whoever overwrites [begin, end) after the slide comes after these.
Touches AddressMap::touches_after_slide(const std::vector<Slid>& all, std::uint64_t begin,
                                        std::uint64_t end, NodeId mover) const {
  Touches after;
  for (const Slid& under : all) {
    if (under.begin >= end || under.end <= begin) continue;
    // The mover read these bytes and came after who wrote them and after all ops before.
    after.absorb(under.copied ? Touches{mover, kNone, touches_[under.id].readers}
                              : touches_[under.id]);
  }
  return after;
}

Window AddressMap::slide(const Window& window, std::uint64_t size, NodeId mover, StepId step,
                         std::vector<Segment>& moves) {
  const std::vector<Slid> all = slid(window);
  std::vector<BlockId> tiles;
  std::vector<Touches> touches;
  std::uint64_t at = all.front().begin;
  for (const Slid& old : all) {
    Block& block = blocks_[old.id];
    if (block.free()) continue;
    if (old.copied) moves.push_back({old.begin, old.to, block.value});
    const std::uint64_t to_end = old.to + block.size;
    tiles.push_back(old.id);
    touches.push_back(old.begin == old.to ? touches_[old.id]
                      : old.copied        ? Touches{mover, kNone, {}}
                                          : touches_after_slide(all, old.to, to_end, mover));
    if (old.begin != old.to) block.last_step = std::max(block.last_step, step);
    block.begin = old.to;
    at = to_end;
  }
  const std::size_t first_free = tiles.size();
  // The rest keeps the bounds of those whose bytes it was, so that nobody waits for more than that.
  for (const Slid& old : all) {
    const std::uint64_t begin = std::max(at, old.begin);
    if (begin >= old.end) continue;
    touches.push_back(touches_after_slide(all, begin, old.end, mover));
    tiles.push_back(new_block(begin, old.end - begin));
    blocks_[tiles.back()].was_used = true;
    blocks_[tiles.back()].last_step = step > 0 ? step - 1 : 0;  // loads for `step` may follow
  }
  for (const Slid& old : all)
    if (blocks_[old.id].free()) drop_block(old.id);
  for (std::size_t i = 0; i < tiles.size(); ++i) touches_[tiles[i]] = std::move(touches[i]);
  for (std::size_t i = first_free; i < tiles.size(); ++i) offer(tiles[i]);
  const auto first = order_.begin() + static_cast<std::ptrdiff_t>(window.first);
  order_.erase(first, order_.begin() + static_cast<std::ptrdiff_t>(window.last) + 1);
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(window.first), tiles.begin(),
                tiles.end());
  Window rest{window.first + first_free, window.first + first_free, 0};
  for (rest.bytes = blocks_[order_[rest.last]].size; rest.bytes < size;)
    rest.bytes += blocks_[order_[++rest.last]].size;
  return rest;
}

}  // namespace ebbtide::planning
