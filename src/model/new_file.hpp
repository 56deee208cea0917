// A file that appears under its name only when it is complete and on the disk.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace ebbtide::model {

// Not thread-safe. Until commit the bytes are in "<path>.partial", which the destructor removes; a
// process that dies leaves it behind, and the next NewFile of that path begins it anew.
class NewFile {
 public:
  // Throws Error with the errno.
  explicit NewFile(const std::filesystem::path& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(std::span<const std::byte> bytes);
  // Blocks until the file, then its name, are on the disk.
  void commit();

 private:
  [[noreturn]] void fail(const char* operation) const;

  std::filesystem::path path_;
  std::string partial_;
  int fd_ = -1;
};

}  // namespace ebbtide::model
