// The first failure of a run, kept until the caller's thread throws it.
//
// Thread safety: all members may be called from any thread.
#pragma once

#include <exception>
#include <mutex>
#include <optional>

#include "tiering/tiers/io_queue.hpp"

namespace ebbtide::execute {

class Failure {
 public:
  void reset();
  // The first of these after reset() wins; later ones are dropped.
  void keep(std::exception_ptr cause) noexcept;
  void keep(tiers::IoDirection direction, const tiers::IoResult& result) noexcept;
  void keep_cancelled() noexcept;
  // Throws what was kept, if anything: an exception as it was, a result of I/O or a cancellation as
  // an Error.
  void rethrow();

 private:
  enum class Kind : std::uint8_t { kNone, kException, kIo, kCancelled };

  std::mutex mutex_;
  Kind kind_ = Kind::kNone;
  std::exception_ptr exception_;
  tiers::IoDirection direction_ = tiers::IoDirection::kRead;
  tiers::IoResult result_;
};

}  // namespace ebbtide::execute
