// A training step in small: in forward each layer saves one value, in backward each reads its own,
// last layer first; one value, at home on the host, goes through all. For tests of what is moved,
// and when.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ebbtide/plan.hpp"

namespace ebbtide::plan_test {

struct LayeredShape {
  std::uint32_t layers = 0;
  std::uint32_t offloaded = 0;  // the first so many leave the device, the others never do
  Reach reach = Reach::kHost;   // of those that leave
  std::uint64_t size_bytes = std::uint64_t{64} << 10;  // of a saved value; layer 1 saves half
  double op_seconds = 0.02;
};

struct Layered {
  explicit Layered(const LayeredShape& layered) : shape(layered) {
    const KindId kind = program.add_kind({"value", "values", {}});
    const KernelId kernel = program.add_kernel({"mix", Place::kDevice, {}});
    HomeLayout layout;
    const Home home = layout.add(kStateBytes, Tier::kHost);
    program.set_home_bytes(layout.bytes());
    const ValueId state = program.add_value({.kind = kind}, home);
    const OpCost cost{shape.op_seconds * 1e11, 0};  // on generic_cpu_hardware()
    const auto op = [&](std::initializer_list<Use> uses) {
      program.begin_chunk_step();
      program.add_op(kernel, std::span(uses.begin(), uses.size()), {}, cost);
    };
    for (std::uint32_t i = 0; i < shape.layers; ++i) {
      const bool leaves = i < shape.offloaded;
      saved.push_back(
          program.add_value({.size_bytes = i == 1 ? shape.size_bytes / 2 : shape.size_bytes,
                             .kind = kind,
                             .reach = leaves ? shape.reach : Reach::kDevice,
                             .at = {static_cast<std::int32_t>(i), -1}}));
      op({update(state), write(saved[i], leaves ? After::kLeave : After::kStay)});
    }
    for (std::uint32_t i = shape.layers; i-- > 0;) op({update(state), read(saved[i])});
  }

  // Device bytes in which as many values that left have room at once.
  std::uint64_t device_bytes(std::uint64_t slots) const {
    const std::uint64_t kept = shape.layers - shape.offloaded;
    return align_up(kStateBytes, kDeviceAlignment) + (kept + slots) * shape.size_bytes;
  }
  // How often values cross a lane, by layer.
  std::vector<int> crossings(const Plan& plan, Lane lane) const {
    std::vector<int> count(saved.size(), 0);
    for (const Task& task : plan.tasks[index(lane)]) {
      for (const Segment& segment : plan.segments_of(task)) {
        const auto at = std::ranges::find(saved, segment.value);
        if (at != saved.end()) ++count[static_cast<std::size_t>(at - saved.begin())];
      }
    }
    return count;
  }

  static constexpr std::uint64_t kStateBytes = 512;

  const LayeredShape shape;
  Program program;
  std::vector<ValueId> saved;
};

}  // namespace ebbtide::plan_test
