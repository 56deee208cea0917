// The words that every part shares: tiers, lanes, data types, alignments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ebbtide {

// Where bytes can live, fastest first.
enum class Tier : std::uint8_t { kDevice, kHost, kNvme };
inline constexpr std::size_t kTierCount = 3;
template <typename T>
using PerTier = std::array<T, kTierCount>;

// Ordered queues of tasks. Tasks of a lane start in order; see Plan for widths.
enum class Lane : std::uint8_t {
  kCompute,      // ops and moves on the device
  kD2h,          // device -> host arena
  kH2d,          // host arena -> device
  kNvmeWrite,    // host arena -> swap files
  kNvmeRead,     // swap files -> host arena
  kHostCompute,  // ops on the host (the optimizer)
  kComm,         // collectives
};
inline constexpr std::size_t kLaneCount = 7;
template <typename T>
using PerLane = std::array<T, kLaneCount>;

// The tiers that a lane's segments leave and reach; where a lane runs ops, both are the tier of
// their operands.
struct Route {
  Tier from = Tier::kDevice;
  Tier to = Tier::kDevice;
};
constexpr Route route(Lane lane) {
  switch (lane) {
    case Lane::kD2h:
      return {Tier::kDevice, Tier::kHost};
    case Lane::kH2d:
      return {Tier::kHost, Tier::kDevice};
    case Lane::kNvmeWrite:
      return {Tier::kHost, Tier::kNvme};
    case Lane::kNvmeRead:
      return {Tier::kNvme, Tier::kHost};
    case Lane::kHostCompute:
      return {Tier::kHost, Tier::kHost};
    case Lane::kCompute:
    case Lane::kComm:
      break;
  }
  return {Tier::kDevice, Tier::kDevice};
}
constexpr bool is_transfer(Lane lane) {
  return route(lane).from != route(lane).to;
}

enum class DType : std::uint8_t { kF32, kBf16, kF64, kU32, kU8 };

// Every device address is a multiple of kDeviceAlignment; every host-arena and swap address is a
// multiple of kPageAlignment, so that O_DIRECT and page-locked copies work on any value.
inline constexpr std::uint64_t kDeviceAlignment = 256;
inline constexpr std::uint64_t kPageAlignment = 4096;

constexpr std::uint64_t alignment(Tier tier) {
  return tier == Tier::kDevice ? kDeviceAlignment : kPageAlignment;
}
constexpr std::uint64_t align_up(std::uint64_t bytes, std::uint64_t to) {
  return (bytes + to - 1) / to * to;
}
// Bytes that a value of `size_bytes` takes in a tier.
constexpr std::uint64_t extent(std::uint64_t size_bytes, Tier tier) {
  return align_up(size_bytes, alignment(tier));
}

constexpr std::size_t index(Tier tier) {
  return static_cast<std::size_t>(tier);
}
constexpr std::size_t index(Lane lane) {
  return static_cast<std::size_t>(lane);
}

constexpr std::uint64_t dtype_bytes(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 8;
    case DType::kF32:
    case DType::kU32:
      return 4;
    case DType::kBf16:
      return 2;
    case DType::kU8:
      return 1;
  }
  return 0;
}

std::string_view name(Tier tier);    // "device", "host", "nvme"
std::string_view name(Lane lane);    // "compute", "d2h", ...
std::string_view name(DType dtype);  // "fp32", "bf16", ...

}  // namespace ebbtide
