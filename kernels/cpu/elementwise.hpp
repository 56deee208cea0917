// The loop that element-wise ops share. No element depends on another, so blocks change no bit.
#pragma once

#include <cstdint>

#include "kernels/cpu/element.hpp"
#include "kernels/cpu/team.hpp"

namespace ebbtide::kernels::cpu {

// Calls body(begin, count) on the team for blocks of at most `block` elements of `t`.
template <typename Body>
void for_each_stretch(Team& team, const ConstTensor& t, std::int64_t block, const Body& body) {
  const std::int64_t count = t.rows * t.cols;
  team.for_each_block(block_count(count, block), [&](std::int64_t i, int) {
    const Range range = block_range(i, block, count);
    body(range.begin, range.size());
  });
}

}  // namespace ebbtide::kernels::cpu
