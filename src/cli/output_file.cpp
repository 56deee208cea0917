#include "src/cli/output_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "ebbtide/error.hpp"

namespace ebbtide::cli {

namespace fs = std::filesystem;

void check_output_file(const std::string& flag, const fs::path& path, Overwrite overwrite) {
  const auto refuse = [&](const std::string& why) {
    throw Error(Errc::kBadUsage, fmt::format("{} {}: {}", flag, path.string(), why));
  };
  const auto refuse_errno = [&](const char* advice) {
    refuse(fmt::format("{} (errno {}); {}", std::generic_category().message(errno), errno, advice));
  };
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) refuse("is a directory; name a file in it");
  if (fs::exists(path, ignored)) {
    if (overwrite == Overwrite::kRefuse)
      refuse("is there already; give --force to replace it, or another name");
    if (access(path.c_str(), W_OK) != 0) refuse_errno("name a file that this user may write");
    return;
  }
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    refuse_errno("name a file in a directory that is there and that this user may write");
}

}  // namespace ebbtide::cli
