// How much memory this process can still take without being killed for it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ebbtide::tiers {

struct AvailableMemory {
  std::uint64_t size_bytes = 0;
  std::string limited_by;  // "the machine", or the control group that is tightest
};

// The least of the machine's available memory and what is left in each control group above this
// process (v1 and v2). `root` stands before /proc and /sys, for tests.
AvailableMemory available_memory(const std::filesystem::path& root = "/");

}  // namespace ebbtide::tiers
