// What tests put between an engine and the system. All empty: nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "tiering/tiers/io_faults.hpp"

namespace ebbtide {

struct EngineSeams {
  tiers::IoFaults* io_faults = nullptr;  // sees every single transfer; outlives the engine
  // As in HostArenaOptions and SwapFilesOptions.
  std::function<int(void* address, std::size_t size_bytes)> lock_pages;
  std::function<std::uint64_t()> available_bytes;
  std::function<int(int descriptor)> enable_direct;
  std::function<int(int descriptor, std::uint64_t size_bytes)> reserve;
};

}  // namespace ebbtide
