// Threads that take no signal.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace ebbtide::tiers {

// Starts a thread with every signal blocked: SIGINT and SIGTERM stay with the program's own
// threads, and a SIGXFSZ raised by this thread's writes does not kill the process.
template <typename Body>
std::thread start_quiet_thread(Body body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited, so that there is no moment without
  try {
    std::thread thread(std::move(body));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

}  // namespace ebbtide::tiers
