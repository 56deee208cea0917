#include "src/model/new_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "ebbtide/error.hpp"

namespace ebbtide::model {
namespace {

constexpr mode_t kMode = 0666;  // less the umask

// Makes a rename last. Filesystems that cannot sync a directory say EINVAL.
bool sync_directory(const std::filesystem::path& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool synced = fsync(fd) == 0 || errno == EINVAL;
  const int error = errno;
  close(fd);
  errno = error;
  return synced;
}

}  // namespace

NewFile::NewFile(const std::filesystem::path& path)
    : path_(path), partial_(path.string() + ".partial") {
  fd_ = open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kMode);
  if (fd_ < 0) fail("create the file");
}

NewFile::~NewFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(partial_.c_str());
}

void NewFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("write the file");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void NewFile::commit() {
  if (fsync(fd_) != 0) fail("sync the file");
  if (close(std::exchange(fd_, -1)) != 0 || std::rename(partial_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    unlink(partial_.c_str());
    errno = error;
    fail("finish the file");
  }
  const std::filesystem::path parent = path_.parent_path();
  if (!sync_directory(parent.empty() ? "." : parent)) fail("sync the directory of the file");
}

void NewFile::fail(const char* operation) const {
  throw Error({errno, std::generic_category()}, {.operation = operation, .path = path_.string()});
}

}  // namespace ebbtide::model
