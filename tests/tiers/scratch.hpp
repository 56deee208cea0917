// Directories for tests: on a disk (the build directory: the temporary one may be in memory) and in
// memory.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace ebbtide::tiers {

enum class Medium { kDisk, kMemory };

inline std::filesystem::path medium_root(Medium medium) {
  if (medium == Medium::kMemory) return "/dev/shm";
  const char* const root = ::getenv("EBBTIDE_TEST_SCRATCH");  // set by meson
  return root ? std::filesystem::path(root) : std::filesystem::current_path();
}

// A fresh directory, gone with its owner.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(Medium medium = Medium::kDisk) {
    std::string name = (medium_root(medium) / "ebbtide-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no scratch directory at " + name);
    path_ = name;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::filesystem::path path_;
};

}  // namespace ebbtide::tiers
