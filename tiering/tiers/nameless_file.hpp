// Files that no name leads to: they vanish with the last descriptor, however the process ends.
#pragma once

#include <filesystem>

namespace ebbtide::tiers {

// Each returns a descriptor, open for reading and writing, of a new empty file of mode 0600 on the
// file system of `directory`; -1 with errno where that cannot be.
int open_nameless_file(const std::filesystem::path& directory);  // by O_TMPFILE, or else as below
// For old and network file systems. Killed between its two calls, the process leaves an empty file.
int open_and_unlink_file(const std::filesystem::path& directory);

}  // namespace ebbtide::tiers
