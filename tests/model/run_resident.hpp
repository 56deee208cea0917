// Runs a Program in program order with every value in plain memory: no plan, no tiers. What other
// ways to run a step are compared with.
//
// A value without a home gets fresh memory at its first use and gives it back after its last;
// fresh memory holds 0xFF bytes (NaN in every float type), so that a read of what was never
// written is seen.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <vector>

#include "ebbtide/program.hpp"

namespace ebbtide::testing {

struct FreeBlock {
  void operator()(std::byte* p) const { std::free(p); }
};
using Block = std::unique_ptr<std::byte, FreeBlock>;

inline Block make_block(std::uint64_t size_bytes) {
  const std::uint64_t rounded = align_up(std::max<std::uint64_t>(size_bytes, 1), kDeviceAlignment);
  Block block(static_cast<std::byte*>(std::aligned_alloc(kDeviceAlignment, rounded)));
  if (block == nullptr) throw std::bad_alloc();
  std::memset(block.get(), 0xFF, rounded);
  return block;
}

// The home part of every tier.
class ResidentHomes {
 public:
  explicit ResidentHomes(const HomeLayout& layout) : size_bytes_(layout.bytes()) {
    for (std::size_t t = 0; t < kTierCount; ++t) blocks_[t] = make_block(size_bytes_[t]);
  }
  std::span<std::byte> at(const Home& home) {
    if (home.address + home.size_bytes > size_bytes_[index(home.tier)])
      throw std::out_of_range("a home outside its layout");
    return {blocks_[index(home.tier)].get() + home.address, home.size_bytes};
  }
  std::span<std::byte> tier(Tier tier) {
    return {blocks_[index(tier)].get(), size_bytes_[index(tier)]};
  }
  template <typename T>
  std::span<T> as(const Home& home) {
    const std::span<std::byte> bytes = at(home);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

 private:
  PerTier<std::uint64_t> size_bytes_;
  PerTier<Block> blocks_;
};

namespace resident {

// For each value, the op after which it is dead.
inline std::vector<OpId> last_uses(const Program& program) {
  std::vector<OpId> last(program.value_count(), 0);
  for (OpId op = 0; op < program.op_count(); ++op)
    for (const Use& use : program.uses(op)) last[use.value] = op;
  return last;
}

inline std::byte* memory_of(const Program& program, const Use& use, ResidentHomes& homes,
                            std::vector<Block>& blocks) {
  if (const Home* home = program.home(use.value)) return homes.at(*home).data();
  Block& block = blocks[use.value];
  if (block == nullptr) {
    if (use.reads())
      throw std::logic_error("read before it was written: " + program.describe(use.value));
    block = make_block(program.value(use.value).size_bytes);
  }
  return block.get();
}

}  // namespace resident

inline void run_resident(const Program& program, ResidentHomes& homes) {
  const std::vector<OpId> last = resident::last_uses(program);
  std::vector<Block> blocks(program.value_count());
  std::vector<std::byte*> operands;
  for (OpId op = 0; op < program.op_count(); ++op) {
    operands.clear();
    for (const Use& use : program.uses(op))
      operands.push_back(resident::memory_of(program, use, homes, blocks));
    program.kernel(program.op(op).kernel).run({program.args(op), operands, nullptr});
    for (const Use& use : program.uses(op))
      if (last[use.value] == op) blocks[use.value].reset();
  }
}

}  // namespace ebbtide::testing
