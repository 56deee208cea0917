#include "src/measure/copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <latch>
#include <semaphore>
#include <thread>

#include "ebbtide/device.hpp"
#include "tiering/tiers/host_arena.hpp"

namespace ebbtide::measure {
namespace {

// Of each arena; each direction has a half of both. Past the caches of most machines.
constexpr std::uint64_t kArenaBytes = std::uint64_t{128} << 20;
constexpr std::array<std::uint64_t, 3> kSizes{64 << 10, 2 << 20, 32 << 20};
constexpr std::uint64_t kSmallestBytes = 64;  // one cache line, for the latency

// Copies of one size in one direction, one after the other through the whole of its memory.
class Direction {
 public:
  Direction(Device& device, Lane lane, std::span<const std::byte> from, std::span<std::byte> to)
      : device_(device), lane_(lane), from_(from), to_(to) {}

  void copy(std::uint64_t size_bytes) {
    if (at_ + size_bytes > from_.size()) at_ = 0;
    const CopySegment segment{to_.data() + at_, from_.data() + at_, size_bytes};
    device_.copy(lane_, {&segment, 1});
    at_ += size_bytes;
  }
  // Bytes a second over that time; at least one copy.
  double rate(std::uint64_t size_bytes, double seconds, const std::stop_token& stop) {
    const Clock::time_point start = Clock::now();
    double bytes = 0;
    do {
      copy(size_bytes);
      bytes += static_cast<double>(size_bytes);
    } while (seconds_since(start) < seconds && !stop.stop_requested());
    return bytes / seconds_since(start);
  }

 private:
  Device& device_;
  Lane lane_;
  std::span<const std::byte> from_;
  std::span<std::byte> to_;
  std::uint64_t at_ = 0;
};

// Seconds of the smallest copy by a lane: its thread sleeps until there is work, and whoever waits
// for the copy sleeps until it is done.
double measure_latency(Direction& direction, Pace& pace) {
  std::binary_semaphore asked(0);
  std::binary_semaphore done(0);
  std::jthread lane([&](const std::stop_token& end) {
    for (asked.acquire(); !end.stop_requested(); asked.acquire()) {
      direction.copy(kSmallestBytes);
      done.release();
    }
  });
  const double seconds = median_seconds(
      [&] {
        asked.release();
        done.acquire();
      },
      pace.begin("latency"), pace.stop());
  lane.request_stop();
  asked.release();
  return seconds;
}

CopyFigure measure_size(std::uint64_t size_bytes, Direction& d2h, Direction& h2d, Pace& pace) {
  CopyFigure figure{.size_bytes = size_bytes};
  const auto begin = [&](const char* what) {
    return pace.begin(fmt::format("{} KiB {}", size_bytes >> 10, what));
  };
  figure.d2h_bytes_per_s = d2h.rate(size_bytes, begin("d2h"), pace.stop());
  figure.h2d_bytes_per_s = h2d.rate(size_bytes, begin("h2d"), pace.stop());
  const double slice = begin("both ways");
  std::latch both(2);
  {
    const std::jthread other([&] {
      both.arrive_and_wait();
      figure.d2h_beside_bytes_per_s = d2h.rate(size_bytes, slice, pace.stop());
    });
    both.arrive_and_wait();
    figure.h2d_beside_bytes_per_s = h2d.rate(size_bytes, slice, pace.stop());
  }
  return figure;
}

}  // namespace

CopyFigures measure_copies(Pace& pace) {
  const std::unique_ptr<Device> device = make_cpu_device({.arena_bytes = kArenaBytes});
  const tiers::HostArena host({.size_bytes = kArenaBytes});
  constexpr std::uint64_t kHalf = kArenaBytes / 2;
  const std::span<std::byte> on_device = device->arena();
  const std::span<std::byte> on_host = host.bytes();
  Direction d2h(*device, Lane::kD2h, on_device.first(kHalf), on_host.first(kHalf));
  Direction h2d(*device, Lane::kH2d, on_host.subspan(kHalf), on_device.subspan(kHalf));
  pace.expect(1 + 3 * kSizes.size());
  CopyFigures figures;
  figures.latency_s = measure_latency(d2h, pace);
  for (const std::uint64_t size_bytes : kSizes)
    figures.sizes.push_back(measure_size(size_bytes, d2h, h2d, pace));
  throw_if_stopped(pace.stop());
  return figures;
}

}  // namespace ebbtide::measure
