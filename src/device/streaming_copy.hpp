// memcpy for bytes that this core will not look at soon.
//
// From kStreamingBytes on, the stores go past the caches, so that copies of the transfer lanes do
// not drive out what the compute lane works on. They are globally visible on return.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ebbtide::device {

inline constexpr std::uint64_t kStreamingBytes = std::uint64_t{256} << 10;

void streaming_copy(std::byte* to, const std::byte* from, std::uint64_t size_bytes);

}  // namespace ebbtide::device
