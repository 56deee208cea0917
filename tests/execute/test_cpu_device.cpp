#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include "ebbtide/error.hpp"
#include "tests/execute/device_contract.hpp"

namespace ebbtide::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cpu, DeviceContract, testing::Values([](std::uint64_t arena_bytes) {
                           return make_cpu_device(
                               {.arena_bytes = arena_bytes, .link_bytes_per_s = {}});
                         }));
INSTANTIATE_TEST_SUITE_P(PacedCpu, DeviceContract, testing::Values([](std::uint64_t arena_bytes) {
                           return make_cpu_device(
                               {.arena_bytes = arena_bytes, .link_bytes_per_s = 4e9});
                         }));

TEST(CpuDevice, IsNotFasterThanItsLinkInEitherDirection) {
  constexpr double kBytesPerSecond = 200e6;
  constexpr std::uint64_t kBytes = std::uint64_t{5} << 20;
  const auto device = make_cpu_device({.arena_bytes = kBytes, .link_bytes_per_s = kBytesPerSecond});
  std::vector<std::byte> host(kBytes);
  for (const Lane lane : {Lane::kD2h, Lane::kH2d}) {
    const bool down = lane == Lane::kD2h;
    std::byte* const arena = device->arena().data();
    const CopySegment all{down ? host.data() : arena, down ? arena : host.data(), kBytes};
    const auto start = std::chrono::steady_clock::now();
    device->copy(lane, {&all, 1});
    device->copy(lane, {&all, 1});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_GE(took.count(), 2 * kBytes / kBytesPerSecond);
  }
}

TEST(CpuDevice, SaysWhatThereIsWhenTheArenaDoesNotFit) {
  constexpr std::uint64_t kTooMuch = std::uint64_t{1} << 46;
  try {
    make_cpu_device({.arena_bytes = kTooMuch, .link_bytes_per_s = {}});
    FAIL() << "64 TiB were reserved";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::kDoesNotFit));
    EXPECT_EQ(error.context().wanted, kTooMuch);
    EXPECT_GT(error.context().got.value_or(0), 0U);
    const std::string text = error.what();
    EXPECT_NE(text.find("device arena"), std::string::npos) << text;
    const std::string offer = "a device memory of ";
    const std::size_t at = text.find(offer);
    ASSERT_NE(at, std::string::npos) << text;
    const std::uint64_t fits = std::stoull(text.substr(at + offer.size()));
    EXPECT_GT(fits, *error.context().got / 2);
    EXPECT_LT(fits, *error.context().got);
  }
}

TEST(CpuDevice, RefusesAnEmptyArenaAndALinkWithoutARate) {
  const auto code_of = [](const CpuDeviceOptions& options) {
    try {
      make_cpu_device(options);
    } catch (const Error& error) {
      return error.code();
    }
    return std::error_code();
  };
  const std::error_code bad_usage = make_error_code(Errc::kBadUsage);
  EXPECT_EQ(code_of({.arena_bytes = 0, .link_bytes_per_s = {}}), bad_usage);
  EXPECT_EQ(code_of({.arena_bytes = 4096, .link_bytes_per_s = 0.0}), bad_usage);
  EXPECT_EQ(code_of({.arena_bytes = 4096, .link_bytes_per_s = -1.0}), bad_usage);
}

}  // namespace
}  // namespace ebbtide::test
