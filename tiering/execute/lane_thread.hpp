// A thread that sleeps until it is told to walk its lane once, then sleeps again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "ebbtide/types.hpp"

namespace ebbtide::execute {

class LaneThread {
 public:
  // `walk` must not throw. All signals are blocked on the thread: they are the program's business.
  LaneThread(Lane lane, std::function<void()> walk);
  ~LaneThread();  // Requires that it rests
  LaneThread(const LaneThread&) = delete;
  LaneThread& operator=(const LaneThread&) = delete;

  void start();  // Requires that it rests
  void rest();   // Blocks until the walk is over.

 private:
  enum class State : std::uint32_t { kResting, kWalking, kLeaving };

  void set(State state);
  void live(const std::function<void()>& walk);

  std::atomic<State> state_{State::kResting};
  std::thread thread_;
};

}  // namespace ebbtide::execute
