#include "tiering/tiers/swap_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "ebbtide/error.hpp"
#include "ebbtide/types.hpp"
#include "tiering/tiers/errno_name.hpp"
#include "tiering/tiers/file_alignment.hpp"
#include "tiering/tiers/nameless_file.hpp"

namespace ebbtide::tiers {
namespace {

namespace fs = std::filesystem;

Error system_error(int error, const std::string& operation, const std::string& path,
                   const std::string& advice) {
  return Error(std::error_code(error, std::system_category()),
               {.operation = operation, .path = path, .advice = advice});
}

std::string advice_for_directory(int error, const fs::path& directory) {
  std::error_code ignored;
  switch (error) {
    case ENOENT:
      if (fs::exists(directory, ignored))
        return "no file can be made on that file system; name another NVMe path";
      return "the directory does not exist; make it, or name another NVMe path";
    case ENOTDIR:
      return "that is not a directory; name one as NVMe path";
    case EACCES:
    case EPERM:
      return "the directory cannot be written; change its owner or mode, or name another";
    case EROFS:
      return "the file system is mounted read-only; name another NVMe path";
    default:
      return "name another NVMe path";
  }
}

int set_direct(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && ::fcntl(descriptor, F_SETFL, flags | O_DIRECT) == 0 ? 0 : errno;
}

std::uint64_t free_bytes(const fs::path& directory) {
  struct statfs info {};
  if (::statfs(directory.c_str(), &info) != 0) return 0;
  return static_cast<std::uint64_t>(info.f_bavail) * static_cast<std::uint64_t>(info.f_bsize);
}

bool lives_in_memory(int descriptor) {
  struct statfs info {};
  return ::fstatfs(descriptor, &info) == 0 &&
         (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC);
}

Error does_not_fit(const std::string& path, std::uint64_t wanted, std::uint64_t available,
                   const std::string& advice) {
  return Error(make_error_code(Errc::kDoesNotFit), {.operation = "preallocate the swap file",
                                                    .path = path,
                                                    .wanted = wanted,
                                                    .got = available,
                                                    .advice = advice});
}

// Before anything is allocated: past the limit the kernel would also send SIGXFSZ.
void check_file_size_limit(const std::string& path, std::uint64_t size_bytes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  if (limit.rlim_cur == RLIM_INFINITY || size_bytes <= limit.rlim_cur) return;
  throw does_not_fit(path, size_bytes, limit.rlim_cur,
                     "EFBIG: the file size limit (RLIMIT_FSIZE, ulimit -f) is that low; raise it, "
                     "ask for less NVMe memory or name more NVMe paths");
}

}  // namespace

SwapFiles::SwapFiles(const SwapFilesOptions& options) : stripe_bytes_(options.stripe_bytes) {
  EBBTIDE_CHECK(stripe_bytes_ > 0 && stripe_bytes_ % kPageAlignment == 0,
                fmt::format("stripe of {} bytes, pages of {}", stripe_bytes_, kPageAlignment));
  if (options.size_bytes == 0) return;
  if (options.directories.empty())
    throw Error(Errc::kBadUsage,
                fmt::format("{} bytes of NVMe memory asked for, but no directory for them",
                            options.size_bytes));
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;  // off_t, rounding left room for
  if (options.size_bytes > kMostBytes)
    throw does_not_fit(options.directories.front().string(), options.size_bytes, kMostBytes,
                       "no file can be that large");
  size_bytes_ = align_up(options.size_bytes, kPageAlignment);
  files_.resize(options.directories.size());
  try {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      files_[i].size_bytes = share_bytes(i, files_.size());
      make_file(options, files_[i], options.directories[i]);
    }
  } catch (...) {
    close_all();
    throw;
  }
}

SwapFiles::~SwapFiles() {
  close_all();
}

SwapFiles::SwapFiles(SwapFiles&& other) noexcept
    : size_bytes_(std::exchange(other.size_bytes_, 0)),
      stripe_bytes_(other.stripe_bytes_),
      files_(std::exchange(other.files_, {})),
      warnings_(std::move(other.warnings_)) {}

SwapFiles& SwapFiles::operator=(SwapFiles&& other) noexcept {
  if (this == &other) return *this;
  close_all();
  size_bytes_ = std::exchange(other.size_bytes_, 0);
  stripe_bytes_ = other.stripe_bytes_;
  files_ = std::exchange(other.files_, {});
  warnings_ = std::move(other.warnings_);
  return *this;
}

// Stripes go round the files; the last one may be cut short.
std::uint64_t SwapFiles::share_bytes(std::size_t file, std::size_t file_count) const {
  const std::uint64_t full_stripes = size_bytes_ / stripe_bytes_;
  const std::uint64_t rest = size_bytes_ % stripe_bytes_;
  const std::uint64_t mine = full_stripes / file_count + (file < full_stripes % file_count ? 1 : 0);
  return mine * stripe_bytes_ + (file == full_stripes % file_count ? rest : 0);
}

void SwapFiles::make_file(const SwapFilesOptions& options, File& file, const fs::path& directory) {
  file.path = (directory / "(unlinked swap file)").string();
  check_file_size_limit(directory.string(), file.size_bytes);
  file.descriptor = open_nameless_file(directory);
  if (file.descriptor < 0) {
    const int error = errno;
    throw system_error(error, "make a swap file", directory.string(),
                       advice_for_directory(error, directory));
  }
  if (file.size_bytes == 0) return;
  const std::uint64_t available = free_bytes(directory);
  const auto reserve = options.reserve ? options.reserve : reserve_file;
  const int error = reserve(file.descriptor, file.size_bytes);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG)
    throw does_not_fit(
        directory.string(), file.size_bytes, available,
        errno_name(error) + ": free space there, ask for less NVMe memory or name more NVMe paths");
  if (error != 0)
    throw system_error(error, "preallocate the swap file", directory.string(),
                       "name another NVMe path");
  if (lives_in_memory(file.descriptor))
    warnings_.push_back(
        fmt::format("swap files: {} is in memory, not on a disk; what goes there still takes DRAM",
                    directory.string()));
  make_direct(options, file);
}

void SwapFiles::make_direct(const SwapFilesOptions& options, File& file) {
  if (options.direct == DirectIo::kNever) return;
  const auto refused = [&](const std::string& why) {
    warnings_.push_back(fmt::format(
        "swap files: O_DIRECT was refused in {}: {}; reading and writing through the page cache",
        file.path, why));
  };
  const std::uint32_t alignment =
      options.forced_alignment.value_or(direct_alignment(file.descriptor));
  if (alignment == 0) return refused("the file system reports that it has none");
  if (alignment > kPageAlignment)
    return refused(fmt::format("it asks for an alignment of {} bytes, blocks have {}", alignment,
                               kPageAlignment));
  const int error =
      options.enable_direct ? options.enable_direct(file.descriptor) : set_direct(file.descriptor);
  if (error != 0) return refused(errno_text(error));
  file.direct = true;
  file.alignment = alignment;
}

SwapPiece SwapFiles::locate(std::uint64_t offset, std::uint64_t limit_bytes) const {
  if (files_.size() == 1) return {0, offset, limit_bytes};
  const std::uint64_t stripe = offset / stripe_bytes_;
  const std::uint64_t within = offset % stripe_bytes_;
  return {stripe % files_.size(), stripe / files_.size() * stripe_bytes_ + within,
          std::min(limit_bytes, stripe_bytes_ - within)};
}

std::vector<SwapPiece> SwapFiles::resolve(std::uint64_t offset, std::uint64_t size_bytes) const {
  EBBTIDE_CHECK(
      offset <= size_bytes_ && size_bytes <= size_bytes_ - offset,
      fmt::format("{} bytes at {} in a swap space of {}", size_bytes, offset, size_bytes_));
  std::vector<SwapPiece> pieces;
  for (const std::uint64_t end = offset + size_bytes; offset < end;) {
    pieces.push_back(locate(offset, end - offset));
    offset += pieces.back().size_bytes;
  }
  return pieces;
}

void SwapFiles::close_all() noexcept {
  for (File& file : files_) {
    if (file.descriptor >= 0) ::close(file.descriptor);
    file.descriptor = -1;
  }
}

}  // namespace ebbtide::tiers
