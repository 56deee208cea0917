// The NVMe tier's space: one nameless file a directory, preallocated, striped into one range of
// offsets.
//
// Thread safety: constant once made. Reads and writes go through an IoQueue.
//
// Invariants
//  1. No name leads to a file once the constructor returns (O_TMPFILE, or unlinked at once) and
//     only its owner could open it: a crash leaves nothing, and nobody else's file is ever touched.
//  2. All blocks are allocated before the constructor returns; a file never grows afterwards.
//  3. resolve() is a bijection: two swap offsets never share a byte of a file.
//
// SIGXFSZ: the kernel sends it, and by default kills the process, when a write passes `ulimit -f`.
// The limit is checked before anything is allocated and queues block the signal on their threads,
// so nothing here raises it; a program's main should ignore it all the same for its other files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ebbtide::tiers {

// A default IoQueue block: a block then goes to one drive whole, and any joined transfer over a few
// MiB keeps every drive busy. NVMe drives reach their rate well below 1 MiB a request.
inline constexpr std::uint64_t kStripeBytes = std::uint64_t{1} << 20;

enum class DirectIo : std::uint8_t { kNever, kWhereAllowed };

struct SwapFilesOptions {
  std::uint64_t size_bytes = 0;  // of all files together; rounded up to a page
  std::vector<std::filesystem::path>
      directories{};                          // one file in each; naming one twice is allowed
  std::uint64_t stripe_bytes = kStripeBytes;  // a multiple of kPageAlignment
  DirectIo direct = DirectIo::kWhereAllowed;
  // Seams for tests; empty means the system's own.
  std::function<int(int descriptor)> enable_direct{};                      // returns 0 or an errno
  std::function<int(int descriptor, std::uint64_t size_bytes)> reserve{};  // returns 0 or an errno
  std::optional<std::uint32_t> forced_alignment{};  // instead of the file's own
};

// A contiguous range of one file.
struct SwapPiece {
  std::size_t file = 0;
  std::uint64_t offset = 0;  // in the file, bytes
  std::uint64_t size_bytes = 0;
};

class SwapFiles {
 public:
  // Throws Error: kDoesNotFit where a disk or `ulimit -f` is too small (path, wanted, available),
  // else the system's error with the path. Nothing is left behind.
  explicit SwapFiles(const SwapFilesOptions& options);
  ~SwapFiles();
  SwapFiles(SwapFiles&& other) noexcept;
  SwapFiles& operator=(SwapFiles&& other) noexcept;

  std::uint64_t size_bytes() const { return size_bytes_; }
  std::size_t file_count() const { return files_.size(); }
  int descriptor(std::size_t file) const { return files_[file].descriptor; }
  const std::string& path(std::size_t file) const { return files_[file].path; }
  // Offsets, lengths and addresses of transfers must be multiples of this; 1 for buffered I/O.
  std::uint32_t alignment(std::size_t file) const { return files_[file].alignment; }
  bool direct(std::size_t file) const { return files_[file].direct; }

  // The piece that begins at `offset` of the swap space, at most `limit_bytes` long.
  SwapPiece locate(std::uint64_t offset, std::uint64_t limit_bytes) const;
  // All pieces of a range, in order of offset. Requires that it lies in the swap space.
  std::vector<SwapPiece> resolve(std::uint64_t offset, std::uint64_t size_bytes) const;

  // What was not as asked, one line each: O_DIRECT refused (path, errno), memory instead of a disk.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct File {
    int descriptor = -1;
    std::string path;  // "<directory>/(unlinked swap file)"
    std::uint64_t size_bytes = 0;
    std::uint32_t alignment = 1;
    bool direct = false;
  };

  std::uint64_t share_bytes(std::size_t file, std::size_t file_count) const;
  void make_file(const SwapFilesOptions& options, File& file,
                 const std::filesystem::path& directory);
  void make_direct(const SwapFilesOptions& options, File& file);
  void close_all() noexcept;

  std::uint64_t size_bytes_ = 0;
  std::uint64_t stripe_bytes_ = 0;
  std::vector<File> files_;
  std::vector<std::string> warnings_;
};

}  // namespace ebbtide::tiers
