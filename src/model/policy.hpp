// What an ActivationPolicy means for one step: which chunks save their tensors, how far these go,
// and whether they leave the device at the end of their forward use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "src/model/llama.hpp"

namespace ebbtide::model {

class SavingRule {
 public:
  // Requires 0 <= saved_fraction <= 1 of each part; kOffload with Reach::kDevice contradicts itself
  // and throws ContractViolation.
  SavingRule(const ActivationPolicy& policy, std::int64_t chunks);

  // Whether chunk c saves a part that may also be recomputed. The last ceil(fraction * chunks) do:
  // forward ascends and backward descends, so a chunk's tensors are held over everything after it,
  // and the last chunks give the most saved recomputation per byte and second held.
  bool saves(SavedPart part, std::int64_t c) const {
    return c >= first_saved_[static_cast<std::size_t>(part)];
  }
  Reach reach() const { return reach_; }
  // At a saved value's last use before its gap.
  After after() const { return after_; }

 private:
  std::array<std::int64_t, 3> first_saved_{};  // by SavedPart
  Reach reach_ = Reach::kAny;
  After after_ = After::kStay;
};

// "offloaded, 25 % saved"; by part where they differ.
std::string describe(const ActivationPolicy& policy);

}  // namespace ebbtide::model
