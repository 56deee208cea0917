// Hands out parts of a member's scratch.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ebbtide/error.hpp"

namespace ebbtide::kernels::cpu {

class Parts {
 public:
  explicit Parts(std::span<float> all) : rest_(all) {}
  float* take(std::int64_t count) {
    const auto size = static_cast<std::size_t>(count);
    EBBTIDE_CHECK(size <= rest_.size(), "scratch of " + std::to_string(rest_.size()));
    float* part = rest_.data();
    rest_ = rest_.subspan(size);
    return part;
  }
  std::span<float> rest() const { return rest_; }

 private:
  std::span<float> rest_;
};

}  // namespace ebbtide::kernels::cpu
