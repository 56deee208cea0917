#include "src/cli/signals.hpp"

#include <pthread.h>

#include <csignal>
#include <utility>

namespace ebbtide::cli {
namespace {

sigset_t stopping_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

SignalWatcher::SignalWatcher(OnSignal on_signal) : on_signal_(std::move(on_signal)) {
  const sigset_t signals = stopping_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  thread_ = std::thread([this] { watch(); });
}

// The signals stay blocked: one that comes while the process ends must not cut that short.
SignalWatcher::~SignalWatcher() {
  leaving_ = true;
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
}

void SignalWatcher::watch() {
  const sigset_t signals = stopping_signals();
  for (int signal = 0; sigwait(&signals, &signal) == 0;) {
    if (leaving_) return;
    on_signal_(signal == SIGINT ? "SIGINT" : "SIGTERM");
  }
}

}  // namespace ebbtide::cli
