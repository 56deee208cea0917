#include "tiering/execute/lane_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include <string>
#include <utility>

namespace ebbtide::execute {
namespace {

// Threads inherit the mask of the one that makes them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

LaneThread::LaneThread(Lane lane, std::function<void()> walk) {
  const SignalsBlocked blocked;
  thread_ = std::thread([this, walk = std::move(walk)] { live(walk); });
  pthread_setname_np(thread_.native_handle(), std::string(name(lane)).c_str());
}

LaneThread::~LaneThread() {
  set(State::kLeaving);
  thread_.join();
}

void LaneThread::set(State state) {
  state_.store(state);
  state_.notify_all();
}

void LaneThread::start() {
  set(State::kWalking);
}

void LaneThread::rest() {
  state_.wait(State::kWalking);
}

void LaneThread::live(const std::function<void()>& walk) {
  for (;;) {
    state_.wait(State::kResting);
    if (state_.load() == State::kLeaving) return;
    walk();
    set(State::kResting);
  }
}

}  // namespace ebbtide::execute
