#include "tiering/tiers/file_alignment.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "ebbtide/types.hpp"

namespace ebbtide::tiers {
namespace {

// The kernel's struct statx (256 bytes since 4.11), by word: older headers lack the fields wanted.
constexpr std::size_t kMaskWord = 0;
constexpr std::size_t kMemoryAlignmentWord = 0x98 / 4;
constexpr std::size_t kOffsetAlignmentWord = 0x9c / 4;
constexpr std::uint32_t kWantDirectAlignment = 0x2000;  // STATX_DIOALIGN

}  // namespace

std::uint32_t direct_alignment(int descriptor) {
  std::array<std::uint32_t, 64> statx{};
  const long failed =
      ::syscall(SYS_statx, descriptor, "", AT_EMPTY_PATH, kWantDirectAlignment, statx.data());
  if (failed != 0 || !(statx[kMaskWord] & kWantDirectAlignment)) return kPageAlignment;
  return std::max(statx[kMemoryAlignmentWord], statx[kOffsetAlignmentWord]);
}

}  // namespace ebbtide::tiers
