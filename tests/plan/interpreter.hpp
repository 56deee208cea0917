// Runs plans on plain memory, in one thread, in an order that a seed chooses among all that the
// plan's waits, lane orders and widths allow.
//
// The order is hostile: lanes are starved and rushed, a wide lane finishes in any order, and a
// task does its work either at once when it starts, or when it finishes. In the second case its
// targets are filled with 0xFF bytes when it starts, and its results are garbage if what it reads
// changes while it runs. Everything but homes is 0xFF bytes when the step begins, and every block
// of every tier becomes 0xFF bytes again when the last task that needs it has finished: NaN in
// every float type, so that what comes too late or is read too late is seen.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"
#include "tests/plan/tenancies.hpp"

namespace ebbtide::plan_test {

using Bytes = std::vector<std::byte>;
// By value; no bytes for a value without a home.
using Homes = std::vector<Bytes>;

// What a value holds.
enum class Content : std::uint8_t {
  kBytes,  // all its bytes
  kWords,  // 8 bytes for each 256 of it, the unit of addresses: overlaps show, and it is cheap
};

Homes initial_homes(const Program& program, std::uint64_t seed, Content content = Content::kBytes);

// The homes after the program's ops in order, every value resident. Ops mix hashes of what they
// read, so that one wrong byte anywhere upstream of a home changes it.
Homes run_in_order(const Program& program, Homes homes, Content content = Content::kBytes);

class Interpreter {
 public:
  // Operand i is use i of the op.
  using RunOp = std::function<void(OpId op, std::span<const std::span<std::byte>> operands)>;

  // Ops mix as in run_in_order(). Requires a plan whose addresses and indices are in range.
  Interpreter(const Program& program, const Plan& plan, Content content = Content::kBytes);
  // Ops do what the caller says, on all bytes.
  Interpreter(const Program& program, const Plan& plan, RunOp run_op);

  // The homes after one step that began with `homes`. Throws ContractViolation when no task can
  // go on.
  Homes run(const Homes& homes, std::uint64_t order_seed);
  // The same; the start of each tier, where all homes are, is taken from there and put back.
  void run(PerTier<std::span<std::byte>> homes, std::uint64_t order_seed);

 private:
  struct Run;
  struct Unalign {
    void operator()(std::byte* memory) const {
      ::operator delete (memory, std::align_val_t{kPageAlignment});
    }
  };
  struct Arena {
    std::unique_ptr<std::byte, Unalign> memory;
    std::size_t size_bytes = 0;
  };

  void make_arenas();
  void poison_all();
  std::span<std::byte> bytes(Tier tier, std::uint64_t address, std::uint64_t size_bytes);
  void poison(Tier tier, Range range);

  const Program& program_;
  const Plan& plan_;
  const Content content_;
  RunOp run_op_;  // empty: they mix
  PerTier<Arena> arenas_;
  Tenancies tenancies_;
};

}  // namespace ebbtide::plan_test
