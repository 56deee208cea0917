// Directories for tests, on a disk or in memory, and the small files in them.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ebbtide::test {

enum class Medium { kDisk, kMemory };

// A real disk: tmpfs takes O_DIRECT at any alignment, so that a pass there proves little, and the
// system's temporary directory may be one.
inline std::filesystem::path disk_directory() {
  const char* const set = ::getenv("EBBTIDE_TEST_DISK");  // by meson
  return set != nullptr ? std::filesystem::path(set) : std::filesystem::current_path();
}

// A fresh directory, removed with everything in it at the end.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(Medium medium = Medium::kDisk) {
    const std::filesystem::path parent = medium == Medium::kMemory ? "/dev/shm" : disk_directory();
    std::string name = (parent / "ebbtide-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw std::runtime_error("no temporary directory at " + name);
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool empty() const { return std::filesystem::is_empty(path_); }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  // A file in it; its path.
  std::filesystem::path write(std::string_view name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace ebbtide::test
