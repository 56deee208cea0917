// Runs the built program as a child process, with a limit on its time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ebbtide::test {

struct Outcome {
  int status = -1;               // exit status; -1 where a signal ended it
  int ended_by = 0;              // that signal
  std::uint64_t peak_bytes = 0;  // the most that was resident at once, as the kernel counts it
  std::string out;
  std::string err;
};

// The built `ebbtide`: EBBTIDE_PROGRAM of the environment, which has to be set.
std::string program();

class Child {
 public:
  Child(const std::string& executable, const std::vector<std::string>& arguments);
  // A running `ebbtide`.
  explicit Child(const std::vector<std::string>& arguments) : Child(program(), arguments) {}
  ~Child();  // kills what still runs
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void send(int signal) const;
  // Blocks until its output holds `text`, it ends, or time is up; whether it was seen.
  bool wait_for_output(const std::string& text);
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

// A fresh directory, removed with everything in it at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

}  // namespace ebbtide::test
