// The tenants of one tier's space by address, and who touched what.
//
// Blocks tile [begin, end) without gaps. A free block remembers who touched its last tenant, since
// the next one must wait for them; free neighbours are never joined, so that no tenant waits for
// more than it must. Fixed blocks (homes) lie outside of the space. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>

#include <vector>

#include "tiering/plan/graph.hpp"

namespace ebbtide::planning {

using BlockId = std::uint32_t;

// Who wrote a block's bytes last and who has read them since: whoever overwrites them comes after
// all of these. Ops of the tier's main lane (compute, host-compute) run in order, so the last of
// them stands for all.
// A block without content has the touches of the tenants before it.
struct Touches {
  NodeId writer = kNone;
  NodeId last_op = kNone;       // last op of the main lane that read
  std::vector<NodeId> readers;  // transfers and collectives that read, and all others

  void absorb(Touches from);
};

// Kept small: the search for a window reads all of them.
struct Block {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  ValueId value = kNone;     // kNone: free
  StepId last_step = 0;      // last step that used it
  double last_use_s = 0;     // start of that step
  double next_use_s = 0;     // start of the step that uses the tenant next
  double available_s = 0;    // when the last store from here, or collective, should be done
  float lose_s = 0;          // lane seconds to send the tenant down and bring it back
  StepId pinned_at = kNone;  // the step that needs the tenant now
  bool was_used = false;     // false: nobody ever touched it, last_step means nothing
  bool has_content = false;  // false: claimed, but nothing has been put there yet
  bool stays = false;        // the tenant may not leave the tier
  bool leaving = false;      // as good as free where a slide is weighed

  bool free() const { return value == kNone; }
  std::uint64_t end() const { return begin + size; }
  // The first step after its last use.
  StepId unused_from() const { return was_used ? last_step + 1 : 0; }
};

// A run of whole blocks, in address order.
struct Window {
  std::size_t first = 0;  // positions in AddressMap::order()
  std::size_t last = 0;   // inclusive
  std::uint64_t bytes = 0;
};

class AddressMap {
 public:
  AddressMap(std::uint64_t begin, std::uint64_t end);

  std::span<const BlockId> order() const { return order_; }
  Block& block(BlockId id) { return blocks_[id]; }
  const Block& block(BlockId id) const { return blocks_[id]; }
  Touches& touches(BlockId id) { return touches_[id]; }

  // A block outside of the space, at a home.
  BlockId add_fixed(std::uint64_t begin, std::uint64_t size, ValueId value);

  // The smallest free block of at least this size that nobody has used since `step` and that is
  // available at `time_s`; kNone if there is none.
  BlockId find_free(std::uint64_t size, StepId unused_since, double time_s);
  // The window of this block alone.
  Window window_of(BlockId id) const;
  // Makes the block free; it stays where it is.
  void release(BlockId id);
  // Replaces a window of free blocks by a block of `size` bytes, claimed; what is left over at the
  // end stays free.
  BlockId place(const Window& window, ValueId value, std::uint64_t size);
  // The window that holds `size` free or leaving bytes and the fewest others. Requires that many.
  Window easiest_to_slide(std::uint64_t size) const;
  bool has_content_to_slide(const Window& window) const;
  // Everyone whom a slide of this window must come after.
  Touches touches_of_slide(const Window& window) const;
  // Slides the window's tenants to its start, so that its free bytes lie together at its end.
  // Appends a segment for each whose content moved, in ascending order; `mover`, before `step`,
  // copies them (kNone where no content moves). Returns a window of `size` bytes at the start of
  // the rest.
  Window slide(const Window& window, std::uint64_t size, NodeId mover, StepId step,
               std::vector<Segment>& moves);

  std::uint64_t free_bytes() const { return space_bytes_ - used_bytes_; }
  std::uint64_t peak_used_bytes() const { return peak_used_bytes_; }
  std::uint64_t highest_end() const { return highest_end_; }

 private:
  // A block of a window that is slid: where it was and where it goes.
  struct Slid {
    BlockId id = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t to = 0;
    bool copied = false;
  };
  std::vector<Slid> slid(const Window& window) const;
  Touches touches_after_slide(const std::vector<Slid>& all, std::uint64_t begin, std::uint64_t end,
                              NodeId mover) const;
  BlockId new_block(std::uint64_t begin, std::uint64_t size);
  void drop_block(BlockId id);
  void offer(BlockId id);
  void claim(BlockId id, ValueId value);

  std::vector<Block> blocks_;
  std::vector<Touches> touches_;  // by block
  std::vector<BlockId> spare_;
  std::vector<BlockId> order_;
  std::map<std::uint64_t, std::vector<BlockId>> free_by_size_;
  std::uint64_t space_bytes_ = 0;
  std::uint64_t used_bytes_ = 0;
  std::uint64_t peak_used_bytes_ = 0;
  std::uint64_t highest_end_ = 0;
};

}  // namespace ebbtide::planning
