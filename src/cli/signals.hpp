// Turns SIGINT and SIGTERM into a request to stop. Make it before any other thread: the signals are
// blocked in the threads made after it, and waited for on a thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace ebbtide::cli {

class SignalWatcher {
 public:
  // Called on the watcher's thread with "SIGINT" or "SIGTERM", once a signal.
  using OnSignal = std::function<void(const std::string& name)>;
  explicit SignalWatcher(OnSignal on_signal);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

 private:
  void watch();

  OnSignal on_signal_;
  std::atomic<bool> leaving_{false};
  std::thread thread_;
};

}  // namespace ebbtide::cli
