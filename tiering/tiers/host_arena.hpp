// The host tier: one anonymous mapping of exactly the bytes asked for (rounded up to a page, never
// to a power of two), taken from the system in full when it is made.
//
// Thread safety: the arena itself is constant once made; its bytes belong to whoever the plan says.
//
// Invariants
//  1. Every page is resident when the constructor returns: the budget is taken before step 1.
//  2. bytes() starts on a page boundary (on a huge-page boundary where it spans one) and never
//  moves;
//     moving the owner moves no byte.
//  3. What is not there is an Error with both numbers, not a kill by the kernel later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ebbtide::tiers {

enum class HugePages : std::uint8_t { kNever, kWhereAllowed };
enum class NumaPlacement : std::uint8_t { kAnywhere, kNearest };  // nearest to the calling thread
enum class PageLock : std::uint8_t { kNone, kTry };

struct HostArenaOptions {
  std::uint64_t size_bytes = 0;
  std::string name = "host";  // of the tier whose bytes these are, for messages
  HugePages huge_pages = HugePages::kWhereAllowed;
  NumaPlacement numa = NumaPlacement::kNearest;
  PageLock lock = PageLock::kNone;
  // Seams for tests; empty means the system's own.
  std::function<int(void* address, std::size_t size_bytes)> lock_pages{};  // returns 0 or an errno
  std::function<std::uint64_t()> available_bytes{};
};

class HostArena {
 public:
  // Throws Error(kDoesNotFit) where the machine, its container or a limit has too little. Blocks
  // until every page has been touched.
  explicit HostArena(const HostArenaOptions& options);
  ~HostArena();
  HostArena(HostArena&& other) noexcept;
  HostArena& operator=(HostArena&& other) noexcept;

  std::span<std::byte> bytes() const { return bytes_; }
  // What was not as asked, one line each: locking refused, with the limit and the need.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void map(const HostArenaOptions& options);
  void bind_to_nearest_node();
  void touch(const HostArenaOptions& options);
  void lock(const HostArenaOptions& options);
  void unmap() noexcept;

  std::span<std::byte> bytes_;
  std::vector<std::string> warnings_;
};

}  // namespace ebbtide::tiers
