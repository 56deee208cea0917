// What a long command is at, on a stream of its own or beside its output: on a terminal one line
// that changes, so that it is seen to go on.
#pragma once

#include <cstdio>
#include <string>

namespace ebbtide::cli {

class StatusLine {
 public:
  explicit StatusLine(std::FILE* stream);
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // On a terminal in place of the line before; off one, nothing.
  void show(const std::string& line);
  // As show(), but a line of its own off a terminal.
  void note(const std::string& line);
  // Takes the line back, so that something else can be printed.
  void clear();

 private:
  std::FILE* stream_;
  bool is_live_;
  bool is_open_ = false;
};

}  // namespace ebbtide::cli
