#include "tests/cli/child.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/temporary_directory.hpp"

namespace ebbtide::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// No test depends on speed: this only ends a program that hangs.
constexpr std::chrono::seconds kLimit{120};
constexpr std::chrono::milliseconds kLook{5};
// The status by which build systems know a skipped test; the program never ends with it.
constexpr int kSkipped = 77;

fs::path output_file(const char* name) {
  std::string path = (fs::temp_directory_path() / (std::string("ebbtide-") + name + "-XXXXXX"));
  close(mkstemp(path.data()));
  return path;
}

void redirect(const fs::path& path, int descriptor) {
  const int file = open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  dup2(file, descriptor);
}

}  // namespace

std::string program() {
  const char* path = std::getenv("EBBTIDE_PROGRAM");
  if (path == nullptr) throw std::runtime_error("EBBTIDE_PROGRAM is not set");
  return path;
}

Child::Child(const std::string& executable, const std::vector<std::string>& arguments,
             const Surroundings& surroundings)
    : out_(output_file("out")), err_(output_file("err")) {
  std::vector<char*> argv{const_cast<char*>(executable.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ != 0) return;
  redirect(out_, STDOUT_FILENO);
  redirect(err_, STDERR_FILENO);
  if (surroundings && !surroundings()) _exit(kSkipped);
  execv(executable.c_str(), argv.data());
  _exit(127);
}

Child::~Child() {
  if (!ended()) {
    kill(pid_, SIGKILL);
    waitpid(pid_, &raw_status_, 0);
  }
  std::error_code ignored;
  fs::remove(out_, ignored);
  fs::remove(err_, ignored);
}

bool Child::ended() {
  if (ended_) return true;
  rusage usage{};
  ended_ = wait4(pid_, &raw_status_, WNOHANG, &usage) == pid_;
  if (ended_) peak_bytes_ = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return ended_;
}

void Child::send(int signal) const {
  kill(pid_, signal);
}

std::uint64_t Child::status_bytes(const std::string& key) const {
  std::ifstream status(fs::path("/proc") / std::to_string(pid_) / "status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == key + ":" && status >> kib) return kib * 1024;
  }
  throw std::runtime_error("no " + key + " of process " + std::to_string(pid_));
}

std::size_t Child::open_files() const {
  const fs::directory_iterator files(fs::path("/proc") / std::to_string(pid_) / "fd");
  return static_cast<std::size_t>(std::distance(files, fs::directory_iterator()));
}

bool Child::wait_until(const std::function<bool()>& is_true) {
  const Clock::time_point limit = Clock::now() + kLimit;
  while (!is_true()) {
    if (ended()) return is_true();
    if (Clock::now() > limit) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

bool Child::wait_for_output(const std::string& text) {
  return wait_until([&] { return text_of(out_).find(text) != std::string::npos; });
}

bool Child::wait_for_error(const std::string& text) {
  return wait_until([&] { return text_of(err_).find(text) != std::string::npos; });
}

Outcome Child::wait() {
  const Clock::time_point limit = Clock::now() + kLimit;
  while (!ended()) {
    if (Clock::now() > limit) {
      ADD_FAILURE() << "the program did not end: " << text_of(out_) << text_of(err_);
      kill(pid_, SIGKILL);
    }
    std::this_thread::sleep_for(kLook);
  }
  const int status = WIFEXITED(raw_status_) ? WEXITSTATUS(raw_status_) : -1;
  return {.status = status,
          .ended_by = WIFSIGNALED(raw_status_) ? WTERMSIG(raw_status_) : 0,
          .skipped = status == kSkipped,
          .peak_bytes = peak_bytes_,
          .out = text_of(out_),
          .err = text_of(err_)};
}

Outcome run(const std::vector<std::string>& arguments) {
  return Child(arguments).wait();
}

}  // namespace ebbtide::test
