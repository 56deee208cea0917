// Counter-based random numbers: a pure function of (key, counter), so that any block of any stream
// can be made in any order, on any rank, with the same result. No state; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ebbtide::model {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

// Philox 4x32 with 10 rounds (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011, section 4.3 and table 2).
PhiloxCounter philox_4x32(PhiloxCounter counter, PhiloxKey key);

// Block `block` of four words of stream `stream` under `seed`.
PhiloxCounter random_block(std::uint64_t seed, std::uint64_t stream, std::uint64_t block);

// Number of a named stream: FNV-1a, 64 bits.
constexpr std::uint64_t stream_number(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

}  // namespace ebbtide::model
