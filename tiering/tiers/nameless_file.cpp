#include "tiering/tiers/nameless_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace ebbtide::tiers {

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

}  // namespace ebbtide::tiers
