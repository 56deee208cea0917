// The CPU as a device: its arena is host memory under a hard cap, its copies are made by the lane
// that asks for them.
#include <algorithm>
#include <array>
#include <cstring>

#include "ebbtide/device.hpp"
#include "ebbtide/error.hpp"
#include "src/device/link_pace.hpp"
#include "src/device/streaming_copy.hpp"
#include "tiering/tiers/host_arena.hpp"

namespace ebbtide {
namespace {

// Slices between which a paced copy looks at the clock.
constexpr std::uint64_t kSliceBytes = std::uint64_t{2} << 20;

tiers::HostArena make_arena(std::uint64_t size_bytes) {
  if (size_bytes == 0) throw Error(Errc::kBadUsage, "the device arena must not be of 0 bytes");
  return tiers::HostArena({.size_bytes = size_bytes, .name = "device"});
}

std::optional<double> checked(std::optional<double> link_bytes_per_s) {
  if (link_bytes_per_s && !(*link_bytes_per_s > 0))
    throw Error(Errc::kBadUsage, "the link bandwidth must be above 0 bytes a second");
  return link_bytes_per_s;
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const CpuDeviceOptions& options)
      : size_bytes_(options.arena_bytes),
        arena_(make_arena(options.arena_bytes)),
        paces_{device::LinkPace(checked(options.link_bytes_per_s)),
               device::LinkPace(options.link_bytes_per_s)} {}

  std::string name() const override { return "cpu"; }
  std::span<std::byte> arena() override { return arena_.bytes().first(size_bytes_); }

  void copy(Lane lane, std::span<const CopySegment> segments) override {
    EBBTIDE_CHECK(lane == Lane::kD2h || lane == Lane::kH2d, std::string(ebbtide::name(lane)));
    device::LinkPace& pace = paces_[lane == Lane::kD2h ? 0 : 1];
    pace.begin();
    for (const CopySegment& segment : segments) copy_slices(segment, pace);
  }

  void move(const CopySegment& segment) override {
    std::memmove(segment.to, segment.from, segment.size_bytes);
  }

  void* stream(Lane) override { return nullptr; }

 private:
  static void copy_slices(const CopySegment& segment, device::LinkPace& pace) {
    for (std::uint64_t at = 0; at < segment.size_bytes; at += kSliceBytes) {
      const std::uint64_t bytes = std::min(kSliceBytes, segment.size_bytes - at);
      device::streaming_copy(segment.to + at, segment.from + at, bytes);
      pace.pass(bytes);
    }
  }

  const std::uint64_t size_bytes_;
  tiers::HostArena arena_;
  std::array<device::LinkPace, 2> paces_;  // each belongs to its copy lane's thread
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(const CpuDeviceOptions& options) {
  return std::make_unique<CpuDevice>(options);
}

}  // namespace ebbtide
