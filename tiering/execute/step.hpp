// What the lanes of an engine share while they walk one plan.
//
// Thread safety: `device` to `nvme_bytes` are constant; `program` to `timeline` are set while every
// lane rests, but for the intervals of the timeline, of which each lane writes its own; the rest is
// safe to share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ebbtide/device.hpp"
#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"
#include "ebbtide/timeline.hpp"
#include "tiering/execute/failure.hpp"
#include "tiering/execute/progress.hpp"
#include "tiering/execute/releases.hpp"

namespace ebbtide::execute {

using Clock = std::chrono::steady_clock;

struct Step {
  explicit Step(Device& on) : device(on), device_arena(on.arena()) {}

  std::span<std::byte> memory(Tier tier) const {
    return tier == Tier::kDevice ? device_arena : host_arena;
  }
  std::uint64_t size_bytes(Tier tier) const {
    return tier == Tier::kNvme ? nvme_bytes : memory(tier).size();
  }
  double now_s() const { return std::chrono::duration<double>(Clock::now() - start).count(); }

  Device& device;
  std::span<std::byte> device_arena;
  std::span<std::byte> host_arena;
  std::uint64_t nvme_bytes = 0;

  const Program* program = nullptr;
  const Plan* plan = nullptr;
  const Releases* releases = nullptr;  // null: freed blocks are left as they are
  Clock::time_point start;
  Timeline timeline;

  Progress progress;
  Failure failure;
  std::atomic<std::uint64_t> poisoned_bytes{0};
};

void poison(Step& step, const Fill& fill);
// Fills what task `task` of `lane` leaves behind, or what it is about to overwrite.
void poison(Step& step, Lane lane, std::uint32_t task, Moment moment);

}  // namespace ebbtide::execute
