// Whole training steps on the engine: the device's arena itself shows how far it was written.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "ebbtide/engine.hpp"
#include "tests/plan/real_step.hpp"

namespace ebbtide::plan_test {
namespace {

constexpr std::uint64_t kBeyond = std::uint64_t{64} << 10;

std::uint64_t span(RealStep& step, Tier tier) {
  return std::max(step.forward_backward().plan.span_bytes[index(tier)],
                  step.optimizer().plan.span_bytes[index(tier)]);
}

// The end of what differs from `fill` after a step that began with an arena full of it.
std::uint64_t written_end(RealStep& step, std::byte fill, const StepResult& right) {
  EngineOptions options;
  options.host_bytes = std::max(span(step, Tier::kHost), kPageAlignment);
  options.nvme_bytes = span(step, Tier::kNvme);
  options.nvme_paths = {std::filesystem::current_path()};
  Engine engine(
      make_cpu_device({.arena_bytes = span(step, Tier::kDevice) + kBeyond, .link_bytes_per_s = {}}),
      options);
  const std::span<std::byte> arena = engine.device().arena();
  std::ranges::fill(arena, fill);
  EXPECT_TRUE(step.result_on(engine) == right);
  std::uint64_t end = arena.size();
  while (end > 0 && arena[end - 1] == fill) --end;
  return end;
}

TEST(DeviceArena, IsWrittenUpToThePlannedPeakAndNotBeyond) {
  for (const Room room : {Room::kAmple, Room::kTightDevice, Room::kTightBoth}) {
    RealStep step({.name = {},
                   .activations = {.mode = model::ActivationMode::kOffload, .reach = Reach::kNvme},
                   .state = Tier::kHost,
                   .room = room,
                   .group = 2});
    const StepResult right = resident_result(DType::kF32);
    // A byte that happens to be the filling shows with the other one.
    const std::uint64_t end = std::max(written_end(step, std::byte{0xA5}, right),
                                       written_end(step, std::byte{0x5A}, right));
    EXPECT_EQ(align_up(end, kDeviceAlignment), span(step, Tier::kDevice));
  }
}

}  // namespace
}  // namespace ebbtide::plan_test
