#include "tiering/tiers/nameless_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>

namespace ebbtide::tiers {
namespace {

constexpr std::uint64_t kZeroBlockBytes = std::uint64_t{1} << 20;

}  // namespace

int open_and_unlink_file(const std::filesystem::path& directory) {
  std::string name = (directory / "ebbtide-swap-XXXXXX").string();
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);  // mode 0600
  if (descriptor < 0) return -1;
  ::unlink(name.c_str());
  return descriptor;
}

int open_nameless_file(const std::filesystem::path& directory) {
  const int descriptor =
      ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor >= 0) return descriptor;
  const int error = errno;
  if (error == EOPNOTSUPP || error == EISDIR || error == EINVAL)
    return open_and_unlink_file(directory);
  errno = error;
  return -1;
}

int reserve_by_writing(int descriptor, std::uint64_t size_bytes) {
  const auto zeros = std::make_unique<std::byte[]>(kZeroBlockBytes);
  for (std::uint64_t at = 0; at < size_bytes;) {
    const std::uint64_t want = std::min(kZeroBlockBytes, size_bytes - at);
    const ssize_t wrote = ::pwrite(descriptor, zeros.get(), want, static_cast<off_t>(at));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    if (wrote == 0) return ENOSPC;
    at += static_cast<std::uint64_t>(wrote);
  }
  return 0;
}

int reserve_file(int descriptor, std::uint64_t size_bytes) {
  int error = 0;
  do {
    error = ::fallocate(descriptor, 0, 0, static_cast<off_t>(size_bytes)) == 0 ? 0 : errno;
  } while (error == EINTR);
  return error == EOPNOTSUPP || error == ENOSYS ? reserve_by_writing(descriptor, size_bytes)
                                                : error;
}

}  // namespace ebbtide::tiers
