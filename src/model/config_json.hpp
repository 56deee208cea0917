// config.json as untrusted text: small, shallow, and no key twice.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace ebbtide::model {

inline constexpr std::uint64_t kMaxConfigBytes = 1 << 20;  // real ones have under 100 KiB
inline constexpr int kMaxConfigDepth = 16;

// Returns an object. Throws Error(kBadFile), or the errno of a file that cannot be read.
nlohmann::json read_json_object(const std::filesystem::path& path);

}  // namespace ebbtide::model
