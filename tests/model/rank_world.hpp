// Ranks in one process, a thread each: their collectives meet at barriers and read each other's
// operands in place.
//
// Every rank runs a program with the same collectives in the same order.
#pragma once

#include <atomic>
#include <barrier>
#include <functional>
#include <span>
#include <vector>

#include "ebbtide/program.hpp"
#include "src/model/collectives.hpp"

namespace ebbtide::testing {

class RankWorld {
 public:
  explicit RankWorld(std::int64_t ranks)
      : operands_(static_cast<std::size_t>(ranks)), barrier_(ranks) {}

  // What runs the collectives of one rank, on that rank's thread. Blocks until all have come.
  OpFunction collectives_of(std::int64_t rank);
  // Calls run(rank) for all ranks at once. Blocks.
  void run(const std::function<void(std::int64_t rank)>& run);

 private:
  // A collective as one of its ranks sees it.
  struct Meeting;
  void meet(std::int64_t rank, const OpContext& context);
  // Throws where another rank has failed.
  void wait_for_all();
  std::byte* operand(std::int64_t rank, std::size_t i) const {
    return operands_[static_cast<std::size_t>(rank)][i];
  }

  std::vector<std::vector<std::byte*>> operands_;  // by rank
  std::barrier<> barrier_;
  std::atomic<bool> failed_ = false;
};

}  // namespace ebbtide::testing
