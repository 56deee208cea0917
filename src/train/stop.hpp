// A request to end a run early, made on any thread (not in a signal handler) and met by the
// training loop within a step.
#pragma once

#include <mutex>
#include <string>

#include "ebbtide/engine.hpp"

namespace ebbtide::train {

class Stop {
 public:
  // Cancels what the attached engine runs. The first reason counts.
  void request(const std::string& reason);
  // Throws Error(kCancelled) with the reason.
  void throw_if_requested() const;

  // While one of these lives, requests reach the engine. Requires that the engine outlives it.
  class Attachment {
   public:
    Attachment(Stop& stop, Engine& engine);
    ~Attachment();
    Attachment(const Attachment&) = delete;
    Attachment& operator=(const Attachment&) = delete;

   private:
    Stop& stop_;
  };

 private:
  mutable std::mutex mutex_;
  std::string reason_;        // guarded by mutex_; empty: none
  Engine* engine_ = nullptr;  // guarded by mutex_
};

}  // namespace ebbtide::train
