#include "src/measure/figures.hpp"

#include <algorithm>

#include "ebbtide/error.hpp"

namespace ebbtide::measure {

double MemoryFigures::best_bytes_per_s() const {
  return std::max({triad_bytes_per_s, adamw_fp32.per_s(), adamw_bf16.per_s()});
}

const DiskCell& DiskFigures::cell(std::uint64_t block_bytes, std::uint32_t depth) const {
  const auto found = std::find_if(cells.begin(), cells.end(), [&](const DiskCell& cell) {
    return cell.block_bytes == block_bytes && cell.depth == depth;
  });
  EBBTIDE_CHECK(found != cells.end(), std::to_string(block_bytes));
  return *found;
}

}  // namespace ebbtide::measure
