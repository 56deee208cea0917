// Files that a subcommand writes after minutes of work.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ebbtide::cli {

enum class Overwrite : std::uint8_t { kRefuse, kReplace };

// Before the work, not after it. Throws Error(kBadUsage) that names the flag where the file is
// there and must not be replaced, or where it cannot be written.
void check_output_file(const std::string& flag, const std::filesystem::path& path,
                       Overwrite overwrite);

}  // namespace ebbtide::cli
