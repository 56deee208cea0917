// Runs plans on plain byte arrays, in one thread, in an order that a seed chooses among all that
// the plan's waits, lane orders and widths allow. Ops mix hashes of what they read, so that one
// wrong byte anywhere upstream of a home changes it.
//
// The order is hostile: lanes are starved and rushed, a wide lane finishes in any order, and a
// task does its work either at once when it starts, or when it finishes. In the second case its
// targets are filled with 0xFF bytes when it starts, and its results are garbage if what it reads
// changes while it runs. Everything but homes is 0xFF bytes when the step begins.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"

namespace ebbtide::plan_test {

using Bytes = std::vector<std::byte>;
// By value; no bytes for a value without a home.
using Homes = std::vector<Bytes>;

Homes initial_homes(const Program& program, std::uint64_t seed);

// The homes after the program's ops in order, every value resident.
Homes run_in_order(const Program& program, Homes homes);

class Interpreter {
 public:
  // Requires a plan whose addresses and indices are in range.
  Interpreter(const Program& program, const Plan& plan);

  // The homes after one step that began with `homes`. Throws ContractViolation when no task can
  // go on.
  Homes run(const Homes& homes, std::uint64_t order_seed);

 private:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t size_bytes = 0;
  };
  struct Run;

  void collect_touched();

  const Program& program_;
  const Plan& plan_;
  PerTier<Bytes> arenas_;
  PerTier<std::vector<Range>> touched_;
};

}  // namespace ebbtide::plan_test
