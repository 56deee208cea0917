// Says that this process writes into a directory, so that others leave alone what is begun there.
#pragma once

#include <cstdint>
#include <filesystem>

namespace ebbtide::train {

enum class Writers : std::uint8_t { kAlone, kOthers };

// Held until the object goes or the process ends, however it ends. Move-only.
class DirectoryLock {
 public:
  // Calls `when_alone` if no other process holds a lock of the directory. Where a file system has
  // no locks, others are taken to be there.
  template <typename Function>
  DirectoryLock(const std::filesystem::path& directory, const Function& when_alone)
      : DirectoryLock(directory) {
    if (writers_ == Writers::kAlone) when_alone();
    share();
  }
  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&&) = delete;

 private:
  explicit DirectoryLock(const std::filesystem::path& directory);
  void share() const;

  int fd_ = -1;
  Writers writers_ = Writers::kOthers;
};

}  // namespace ebbtide::train
