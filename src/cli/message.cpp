#include "src/cli/message.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

namespace ebbtide::cli {
namespace {

// A write to a pipe that nobody reads raises SIGPIPE on the thread that writes.
class NoBrokenPipe {
 public:
  NoBrokenPipe() noexcept {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoBrokenPipe() {
    const timespec at_once{};
    if (sigismember(&before_, SIGPIPE) == 0) sigtimedwait(&signal_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  sigset_t signal_;
  sigset_t before_;
};

}  // namespace

void print_message(const char* kind, const char* text) noexcept {
  const NoBrokenPipe no_broken_pipe;
  dprintf(STDERR_FILENO, "ebbtide: %s%s\n", kind, text);
}

void open_standard_streams() noexcept {
  // An open takes the lowest number that is free.
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) return;
  }
}

}  // namespace ebbtide::cli
