// Runs the built program as a child process, with a limit on its time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace ebbtide::test {

struct Outcome {
  int status = -1;               // exit status; -1 where a signal ended it
  int ended_by = 0;              // that signal
  bool skipped = false;          // its surroundings could not be made
  std::uint64_t peak_bytes = 0;  // the most that was resident at once, as the kernel counts it
  std::string out;
  std::string err;
};

// The built `ebbtide`: EBBTIDE_PROGRAM of the environment, which has to be set.
std::string program();

// What a child does to itself before it becomes the program: limits, mounts, filters. False: this
// machine does not allow it.
using Surroundings = std::function<bool()>;

class Child {
 public:
  Child(const std::string& executable, const std::vector<std::string>& arguments,
        const Surroundings& surroundings = {});
  // A running `ebbtide`.
  explicit Child(const std::vector<std::string>& arguments) : Child(program(), arguments) {}
  ~Child();  // kills what still runs
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void send(int signal) const;
  // Blocks until it is true, the program ends, or time is up; whether it was true.
  bool wait_until(const std::function<bool()>& is_true);
  // The same for its output to hold `text`.
  bool wait_for_output(const std::string& text);
  bool wait_for_error(const std::string& text);  // on standard error
  // Blocks until it ends; kills it, and fails the test, after the limit.
  Outcome wait();
  pid_t pid() const { return pid_; }
  // Of a child that runs: the number of bytes of a line of /proc/PID/status ("RssAnon"), and how
  // many files it has open.
  std::uint64_t status_bytes(const std::string& key) const;
  std::size_t open_files() const;

 private:
  bool ended();

  pid_t pid_ = -1;
  int raw_status_ = 0;
  std::uint64_t peak_bytes_ = 0;
  bool ended_ = false;
  std::filesystem::path out_;
  std::filesystem::path err_;
};

Outcome run(const std::vector<std::string>& arguments);

}  // namespace ebbtide::test
