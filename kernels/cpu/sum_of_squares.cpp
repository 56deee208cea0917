// *sum = sum of x^2, in double: blocks in parallel, their sums added in order.
#include "kernels/cpu/element.hpp"
#include "kernels/cpu/ops.hpp"

namespace ebbtide::kernels::cpu {
namespace {

constexpr std::int64_t kBlock = 32768;  // elements
constexpr std::int64_t kBatch = 4096;   // blocks whose sums are held at a time
static_assert(kBatch * sizeof(double) <= Team::kSharedBytes);

double block_sum(const float* x, std::int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(x[i]);
    sum += value * value;
  }
  return sum;
}

}  // namespace

void run(const SumOfSquares& op, Team& team) {
  double* sums = team.shared<double>().data();
  const std::int64_t blocks = block_count(op.count, kBlock);
  double total = 0;
  for (std::int64_t b = 0; b < block_count(blocks, kBatch); ++b) {
    const Range batch = block_range(b, kBatch, blocks);
    team.for_each_block(batch.size(), [&](std::int64_t i, int) {
      const Range range = block_range(batch.begin + i, kBlock, op.count);
      sums[i] = block_sum(op.x + range.begin, range.size());
    });
    for (std::int64_t i = 0; i < batch.size(); ++i) total += sums[i];
  }
  *op.sum = total;
}

}  // namespace ebbtide::kernels::cpu
