// A small program and a plan for it in which every lane has work: a value that leaves the device
// for NVMe and comes back, a slot of the device that two values share, a move, and a home on the
// host that the host updates.
#pragma once

#include "tests/plan/plan_builder.hpp"

namespace ebbtide::plan_test {

inline constexpr std::uint64_t kSlot = kDeviceAlignment;
inline constexpr std::uint64_t kPage = kPageAlignment;

struct Spill {
  Program program;
  ValueId a = 0, b = 0, c = 0, sum = 0;
  OpId make_a = 0, make_b = 0, make_c = 0, use_c = 0, use_a = 0, add = 0;

  Spill() {
    const KindId kind = program.add_kind({"value", "values", {}});
    const KernelId on_device = program.add_kernel({"mix", Place::kDevice, {}});
    const KernelId on_host = program.add_kernel({"add", Place::kHost, {}});
    HomeLayout layout;
    const Home home = layout.add(100, Tier::kHost);
    layout.add(kPage, Tier::kHost);  // another program's
    program.set_home_bytes(layout.bytes());
    const auto value = [&](std::int32_t at) {
      return program.add_value({.size_bytes = 200, .kind = kind, .at = {at, -1}});
    };
    a = value(0), b = value(1), c = value(2);
    sum = program.add_value({.kind = kind, .at = {3, -1}}, home);
    const auto op = [&](KernelId kernel, std::initializer_list<Use> uses) {
      return program.add_op(kernel, std::span(uses.begin(), uses.size()), {}, {1e6, 0});
    };
    make_a = op(on_device, {write(a)});
    make_b = op(on_device, {read(a), write(b)});
    make_c = op(on_device, {write(c)});
    use_c = op(on_device, {read(c), update(b)});
    use_a = op(on_device, {read(a), update(b)});
    add = op(on_host, {read(b), update(sum)});
  }

  static constexpr Budgets kBudgets{3 * kSlot, 4 * kPage, 2 * kPage};

  PlanBuilder builder() const { return PlanBuilder(program, kBudgets); }

  // a lives in slot 0 and goes to host page 2, NVMe page 0 and back; c takes slot 0 meanwhile and
  // moves to slot 2; b lives in slot 1 and ends in host page 3.
  Plan plan() const {
    PlanBuilder to = builder();
    to.op(make_a, {0});
    const Wait made_b = to.op(make_b, {0, kSlot});
    const Wait stored = to.transfer(Lane::kD2h, {{0, 2 * kPage, a}}, {{0, 1}});
    const Wait written = to.transfer(Lane::kNvmeWrite, {{2 * kPage, 0, a}}, {stored});
    const Wait fetched = to.transfer(Lane::kNvmeRead, {{0, 2 * kPage, a}}, {written});
    to.op(make_c, {0}, {stored});
    const Wait moved = to.move({{0, 2 * kSlot, c}});
    to.op(use_c, {2 * kSlot, kSlot});
    const Wait loaded = to.transfer(Lane::kH2d, {{2 * kPage, 0, a}}, {fetched, moved});
    const Wait done = to.op(use_a, {0, kSlot}, {loaded});
    const Wait down = to.transfer(Lane::kD2h, {{kSlot, 3 * kPage, b}}, {done});
    to.op(add, {3 * kPage, 0}, {down});
    (void)made_b;
    return to.plan();
  }
};

}  // namespace ebbtide::plan_test
