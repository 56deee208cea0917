// NVMe as training uses it: swap files through the tier's own queue, over block size and depth.
#pragma once

#include <filesystem>
#include <vector>

#include "src/measure/figures.hpp"
#include "src/measure/pace.hpp"

namespace ebbtide::measure {

// What `train` uses unless told otherwise: the hardware file's rates are of these.
inline constexpr std::uint64_t kUsualBlockBytes = std::uint64_t{1} << 20;
inline constexpr std::uint32_t kUsualDepth = 16;
// What the hardware file's latencies are of.
inline constexpr std::uint64_t kSmallestBlockBytes = 4096;

// Throws Error(kBadUsage) for a path that is no directory or that this user may not write.
void check_directories(const std::vector<std::filesystem::path>& directories);

// Files striped over the directories; of several on one file system the first is taken, the others
// are named by a warning. Every block that is read was written before: what was never written is
// read without the drive. Blocks; throws Error(kCancelled, kDoesNotFit, or with the errno). Nothing
// is left behind, however it ends.
DiskFigures measure_disk(const std::vector<std::filesystem::path>& directories, Pace& pace);

}  // namespace ebbtide::measure
