// Files that no name leads to: they vanish with the last descriptor, however the process ends.
#pragma once

#include <cstdint>
#include <filesystem>

namespace ebbtide::tiers {

// Each returns a descriptor, open for reading and writing, of a new empty file of mode 0600 on the
// file system of `directory`; -1 with errno where that cannot be.
int open_nameless_file(const std::filesystem::path& directory);  // by O_TMPFILE, or else as below
// For old and network file systems. Killed between its two calls, the process leaves an empty file.
int open_and_unlink_file(const std::filesystem::path& directory);

// Each allocates all blocks of a file of this size. Return 0 or an errno.
int reserve_file(int descriptor, std::uint64_t size_bytes);        // ahead, or else as below
int reserve_by_writing(int descriptor, std::uint64_t size_bytes);  // zeros

}  // namespace ebbtide::tiers
