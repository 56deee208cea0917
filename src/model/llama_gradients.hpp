// The gradient sums of a micro-step's parameters: how each contribution is added, and the norm
// partial when the last one has been. Of many ranks, contributions are added up in a value of the
// whole parameter, which then joins those of the other ranks in the shards.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "src/model/llama_ranks.hpp"
#include "src/model/llama_step.hpp"

namespace ebbtide::model {

class Gradients {
 public:
  Gradients(Step& step, std::size_t parameters, GradientStart start, NormPartials norms);

  // For a kernel that can overwrite: it writes the first contribution and updates with the others.
  struct Product {
    Use use;
    kernels::Accumulate accumulate;
  };
  Product product(std::size_t parameter);
  // For a kernel that always adds; zeroes the sum before the first contribution.
  Use sum(std::size_t parameter);
  // No contribution follows. Makes the sums of squares if this micro-step does; of many ranks only
  // at the next call, since the shards are still on their way.
  void complete(std::span<const std::size_t> parameters);
  // The next contribution is far away: of many ranks, the whole sum need not wait for it.
  void pause(std::size_t parameter);
  // All parameters are complete.
  void finish();

 private:
  ValueId sum_of(std::size_t parameter);
  void reduce(std::span<const std::size_t> parameters);
  void add_squares(std::span<const std::size_t> parameters);

  Step& step_;
  NormPartials norms_;
  std::vector<bool> started_;                  // by parameter: the sum has content
  std::vector<bool> shard_started_;            // of many ranks
  std::vector<std::optional<ValueId>> whole_;  // of many ranks: the sum, where it has begun
  std::vector<std::size_t> on_their_way_;      // complete, but without sum of squares
};

}  // namespace ebbtide::model
