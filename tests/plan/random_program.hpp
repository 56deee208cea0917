// Random programs by seed, for tests of planners and of the verifier: updates, fan-out, values
// written over, homes in every tier (some of them other programs'), ops on the host, collectives,
// sizes from a byte to many buckets, every reach and both ends of a stay.
#pragma once

#include <cstdint>
#include <random>

#include "ebbtide/program.hpp"

namespace ebbtide::plan_test {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  // A whole number in [low, high].
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + engine_() % (high - low + 1);
  }
  bool chance(double probability) {
    return static_cast<double>(engine_() >> 11) * 0x1p-53 < probability;
  }

 private:
  std::mt19937_64 engine_;
};

struct RandomShape {
  std::uint32_t ops_min = 20;
  std::uint32_t ops_max = 200;
  std::uint64_t size_min_bytes = 1;
  std::uint64_t size_max_bytes = 256 << 10;
  double leave_chance = 0.2;  // of a use after which the value is asked to leave
  double comm_chance = 0.15;  // of an op that is not on the host
};

// The same seed and shape give the same program. Kernels have no callbacks.
Program random_program(std::uint64_t seed, const RandomShape& shape = {});

}  // namespace ebbtide::plan_test
