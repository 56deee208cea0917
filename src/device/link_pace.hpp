// Holds one direction of copies back to the rate of a link.
//
// Thread safety: one lane's.
//
// Invariant: from the first begin() on, the bytes that have passed by a moment never exceed rate
// times the time since, nor does a pause earn a faster burst later.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace ebbtide::device {

class LinkPace {
 public:
  // Without a rate nothing is held back.
  explicit LinkPace(std::optional<double> bytes_per_s) : bytes_per_s_(bytes_per_s) {}

  // A copy begins: the link is free from now, or from the end of the one before.
  void begin();
  // `size_bytes` have been copied. Blocks until the link would have carried them.
  void pass(std::uint64_t size_bytes);

 private:
  using Clock = std::chrono::steady_clock;

  std::optional<double> bytes_per_s_;
  Clock::time_point free_at_;
};

}  // namespace ebbtide::device
