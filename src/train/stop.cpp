#include "src/train/stop.hpp"

#include "ebbtide/error.hpp"

namespace ebbtide::train {

void Stop::request(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (reason_.empty()) reason_ = reason;
  if (engine_ != nullptr) engine_->cancel();
}

void Stop::throw_if_requested() const {
  const std::lock_guard lock(mutex_);
  if (!reason_.empty()) throw Error(Errc::kCancelled, "cancelled by " + reason_);
}

Stop::Attachment::Attachment(Stop& stop, Engine& engine) : stop_(stop) {
  const std::lock_guard lock(stop_.mutex_);
  stop_.engine_ = &engine;
}

Stop::Attachment::~Attachment() {
  const std::lock_guard lock(stop_.mutex_);
  stop_.engine_ = nullptr;
}

}  // namespace ebbtide::train
