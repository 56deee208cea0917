// A file of trace events: a JSON array that is good to read at every moment. Readers take one whose
// closing bracket, or last event, is cut off, so a run that is killed leaves what it had written.
//
// Not thread-safe.
//
// Invariants
//  1. What is written at once is whole events.
//  2. After a failed write the file ends with what the last keep() closed, as far as the system
//     lets it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace ebbtide::report {

class TraceFile {
 public:
  // Makes the file, or empties it. Throws the system's error where that, or writing, fails.
  explicit TraceFile(std::filesystem::path path);
  // Closes the array.
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // Adds an event: a JSON object. Throws the system's error; nothing can be added afterwards.
  void add(std::string_view event);
  // Writes what was added; a later failure leaves it in the file. Throws as add().
  void keep();

 private:
  void write(std::string_view bytes);
  [[noreturn]] void fail(const char* operation);
  void close_array() noexcept;

  std::filesystem::path path_;
  int file_ = -1;
  std::string pending_;  // whole events
  std::uint64_t written_bytes_ = 0;
  std::uint64_t kept_bytes_ = 0;  // of them, those that keep() closed
  bool has_events_ = false;
};

}  // namespace ebbtide::report
