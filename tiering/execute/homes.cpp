// Homes, read and written between runs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ebbtide/error.hpp"
#include "tiering/execute/engine_state.hpp"

namespace ebbtide {
namespace {

void check(const Home& home, std::uint64_t size_bytes, std::uint64_t limit) {
  EBBTIDE_CHECK(size_bytes == home.size_bytes,
                fmt::format("{} bytes for a home of {}", size_bytes, home.size_bytes));
  EBBTIDE_CHECK(home.address <= limit && extent(size_bytes, home.tier) <= limit - home.address,
                fmt::format("a home of {} bytes at {} in the {} tier, which has {}", size_bytes,
                            home.address, name(home.tier), limit));
}

}  // namespace

void Engine::State::write_home(const Home& home, std::span<const std::byte> bytes) {
  check(home, bytes.size(), step_.size_bytes(home.tier));
  switch (home.tier) {
    case Tier::kDevice: {
      const CopySegment all{step_.device_arena.data() + home.address, bytes.data(), bytes.size()};
      return device_->copy(Lane::kH2d, {&all, 1});
    }
    case Tier::kHost:
      std::memcpy(step_.host_arena.data() + home.address, bytes.data(), bytes.size());
      return;
    case Tier::kNvme:
      return write_disk(home.address, bytes);
  }
}

void Engine::State::read_home(const Home& home, std::span<std::byte> bytes) {
  check(home, bytes.size(), step_.size_bytes(home.tier));
  switch (home.tier) {
    case Tier::kDevice: {
      const CopySegment all{bytes.data(), step_.device_arena.data() + home.address, bytes.size()};
      return device_->copy(Lane::kD2h, {&all, 1});
    }
    case Tier::kHost:
      std::memcpy(bytes.data(), step_.host_arena.data() + home.address, bytes.size());
      return;
    case Tier::kNvme:
      return read_disk(home.address, bytes);
  }
}

void Engine::State::write_disk(std::uint64_t address, std::span<const std::byte> bytes) {
  const std::span<std::byte> bounce = bounce_.bytes();
  while (!bytes.empty()) {
    const std::size_t piece = std::min(bytes.size(), bounce.size());
    const std::uint64_t whole_pages = extent(piece, Tier::kNvme);
    std::memcpy(bounce.data(), bytes.data(), piece);
    std::memset(bounce.data() + piece, 0, whole_pages - piece);
    disk_writer_->transfer_now({address, bounce.data(), whole_pages});
    bytes = bytes.subspan(piece);
    address += whole_pages;
  }
}

void Engine::State::read_disk(std::uint64_t address, std::span<std::byte> bytes) {
  const std::span<std::byte> bounce = bounce_.bytes();
  while (!bytes.empty()) {
    const std::size_t piece = std::min(bytes.size(), bounce.size());
    const std::uint64_t whole_pages = extent(piece, Tier::kNvme);
    disk_reader_->transfer_now({address, bounce.data(), whole_pages});
    std::memcpy(bytes.data(), bounce.data(), piece);
    bytes = bytes.subspan(piece);
    address += whole_pages;
  }
  count_checked();
}

}  // namespace ebbtide
