// A Device owns an arena of fixed bytes, a compute lane and two copy lanes. Its implementations are
// made by the factories at the end; an Engine drives it.
//
// Invariants
//  1. The arena is reserved in full when the device is made, and never grows.
//  2. Copies and ops are only called from the lane that they belong to, one at a time a lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "ebbtide/types.hpp"

namespace ebbtide {

struct CopySegment {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint64_t size_bytes = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  virtual std::span<std::byte> arena() = 0;
  // Copies all segments between the arena and the host arena. Blocks until they are done.
  virtual void copy(Lane lane, std::span<const CopySegment> segments) = 0;
  // memmove inside the arena, on the compute lane. Blocks until it is done.
  virtual void move(const CopySegment& segment) = 0;
  // The stream handed to ops of this lane; null where ops run on the calling thread.
  virtual void* stream(Lane lane) = 0;
};

struct CpuDeviceOptions {
  std::uint64_t arena_bytes = 0;
  // Pace each copy direction like a link of this many bytes a second.
  std::optional<double> link_bytes_per_s;
};
std::unique_ptr<Device> make_cpu_device(const CpuDeviceOptions& options);

}  // namespace ebbtide
