#include "tiering/execute/failure.hpp"

#include <utility>

#include "ebbtide/error.hpp"

namespace ebbtide::execute {

void Failure::reset() {
  const std::scoped_lock lock(mutex_);
  kind_ = Kind::kNone;
  exception_ = nullptr;
}

void Failure::keep(std::exception_ptr cause) noexcept {
  const std::scoped_lock lock(mutex_);
  if (kind_ != Kind::kNone) return;
  kind_ = Kind::kException;
  exception_ = std::move(cause);
}

void Failure::keep(tiers::IoDirection direction, const tiers::IoResult& result) noexcept {
  const std::scoped_lock lock(mutex_);
  if (kind_ != Kind::kNone) return;
  kind_ = Kind::kIo;
  direction_ = direction;
  result_ = result;
}

void Failure::keep_cancelled() noexcept {
  const std::scoped_lock lock(mutex_);
  if (kind_ == Kind::kNone) kind_ = Kind::kCancelled;
}

void Failure::rethrow() {
  const std::scoped_lock lock(mutex_);
  switch (kind_) {
    case Kind::kNone:
      return;
    case Kind::kException:
      std::rethrow_exception(std::exchange(exception_, nullptr));
    case Kind::kIo:
      throw tiers::io_error(direction_, result_);
    case Kind::kCancelled:
      throw Error(Errc::kCancelled, "the step was cancelled");
  }
}

}  // namespace ebbtide::execute
