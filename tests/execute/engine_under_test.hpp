// Engines of the sizes that a test needs, with their swap files on the disk of the build folder.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "ebbtide/engine.hpp"
#include "tests/execute/slow_device.hpp"
#include "tests/temporary_directory.hpp"

namespace ebbtide::test {

inline std::unique_ptr<Device> slow_device(std::uint64_t arena_bytes,
                                           std::function<void(Lane)> before_copy) {
  return std::make_unique<SlowDevice>(
      make_cpu_device({.arena_bytes = arena_bytes, .link_bytes_per_s = {}}),
      std::move(before_copy));
}

template <typename Shape>
EngineOptions options_for(const Shape& shape) {
  EngineOptions options;
  options.host_bytes = shape.host_bytes();
  options.nvme_bytes = shape.nvme_bytes();
  options.nvme_paths = {disk_directory()};
  options.io_block_bytes = std::uint64_t{64} << 10;
  return options;
}

template <typename Shape>
Engine engine_for(const Shape& shape, const EngineOptions& options,
                  std::function<void(Lane)> before_copy = {}) {
  return {slow_device(shape.device_bytes(), std::move(before_copy)), options};
}

}  // namespace ebbtide::test
