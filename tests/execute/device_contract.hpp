// What every Device must do; each implementation instantiates this suite with its factory.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "ebbtide/device.hpp"

namespace ebbtide::test {

using MakeDevice = std::function<std::unique_ptr<Device>(std::uint64_t arena_bytes)>;

class DeviceContract : public testing::TestWithParam<MakeDevice> {
 protected:
  static constexpr std::uint64_t kArenaBytes = (std::uint64_t{3} << 20) + 256;

  static std::vector<std::byte> noise(std::uint64_t size_bytes, std::uint32_t seed) {
    std::vector<std::byte> bytes(size_bytes);
    for (std::byte& byte : bytes) {
      seed = seed * 1664525U + 1013904223U;
      byte = static_cast<std::byte>(seed >> 24);
    }
    return bytes;
  }
  void put(std::uint64_t address, const std::vector<std::byte>& bytes) {
    const CopySegment all{device_->arena().data() + address, bytes.data(), bytes.size()};
    device_->copy(Lane::kH2d, {&all, 1});
  }
  std::vector<std::byte> get(std::uint64_t address, std::uint64_t size_bytes) {
    std::vector<std::byte> bytes(size_bytes);
    const CopySegment all{bytes.data(), device_->arena().data() + address, size_bytes};
    device_->copy(Lane::kD2h, {&all, 1});
    return bytes;
  }

  std::unique_ptr<Device> device_ = GetParam()(kArenaBytes);
};

TEST_P(DeviceContract, HasExactlyTheArenaThatWasAsked) {
  EXPECT_EQ(device_->arena().size(), kArenaBytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(device_->arena().data()) % kDeviceAlignment, 0U);
}

TEST_P(DeviceContract, BringsBackWhatWasCopiedForEverySize) {
  for (const std::uint64_t size_bytes :
       {1UL, 63UL, 64UL, 4095UL, 262143UL, 262145UL, kArenaBytes}) {
    const std::vector<std::byte> bytes = noise(size_bytes, 1);
    put(0, bytes);
    EXPECT_EQ(get(0, size_bytes), bytes) << size_bytes;
  }
}

TEST_P(DeviceContract, CopiesEverySegmentAndNothingBetweenThem) {
  constexpr std::uint64_t kBytes = 5000;
  const std::vector<std::byte> before = noise(kArenaBytes, 2);
  const std::vector<std::byte> first = noise(kBytes, 3);
  const std::vector<std::byte> second = noise(kBytes, 4);
  put(0, before);
  const std::vector<CopySegment> segments{
      {device_->arena().data() + 256, first.data(), kBytes},
      {device_->arena().data() + (1U << 20), second.data(), kBytes},
  };
  device_->copy(Lane::kH2d, segments);
  std::vector<std::byte> expected = before;
  std::memcpy(expected.data() + 256, first.data(), kBytes);
  std::memcpy(expected.data() + (1U << 20), second.data(), kBytes);
  EXPECT_EQ(get(0, kArenaBytes), expected);
  device_->copy(Lane::kD2h, {});
}

TEST_P(DeviceContract, MovesOverItselfInBothDirections) {
  constexpr std::uint64_t kBytes = 1U << 20;
  const std::vector<std::byte> bytes = noise(kBytes, 5);
  std::byte* const arena = device_->arena().data();
  put(4096, bytes);
  device_->move({arena, arena + 4096, kBytes});
  EXPECT_EQ(get(0, kBytes), bytes);
  device_->move({arena + 512, arena, kBytes});
  EXPECT_EQ(get(512, kBytes), bytes);
}

}  // namespace ebbtide::test
