// A small program that passes through every lane, with a plan written by hand, and its right
// result.
//
//   a = fill(7)                    device 0         -> host A -> disk 0
//   b = fill(9)                    device 0 (over a) -> moved to device 2S
//   a comes back                   disk 0 -> host B -> device S
//   c = a + b                      device 3S, then to its home on the host
//   total (a home) += c            on the host
//   seen  (a home) = total         on the comm lane
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ebbtide/engine.hpp"
#include "tests/plan/plan_builder.hpp"

namespace ebbtide::test {

inline std::uint64_t pattern(std::uint64_t seed, std::uint64_t i) {
  return (seed * 0x9E3779B97F4A7C15U) ^ (i * 0xBF58476D1CE4E5B9U);
}

inline std::span<std::uint64_t> words(std::byte* memory, std::uint64_t size_bytes) {
  return {reinterpret_cast<std::uint64_t*>(memory), size_bytes / sizeof(std::uint64_t)};
}

class Relay {
 public:
  // Requires a multiple of 4096.
  explicit Relay(std::uint64_t size_bytes) : size_bytes_(size_bytes) { build(); }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Called by each op before its work; it may sleep, throw or cancel.
  std::function<void(const std::string& kernel)> before_op;

  const Program& program() const { return program_; }
  plan_test::PlanBuilder& hand_plan() { return *plan_; }
  const Plan& plan() const { return plan_->plan(); }
  const Home& total() const { return total_; }
  std::uint64_t device_bytes() const { return 4 * size_bytes_; }
  std::uint64_t host_bytes() const { return 5 * size_bytes_; }
  std::uint64_t nvme_bytes() const { return size_bytes_; }

  // Runs once with `total` at zero before it; returns whether the right bytes came out.
  bool runs_right(Engine& engine) const {
    std::vector<std::byte> bytes(size_bytes_);
    engine.write_home(total_, bytes);
    engine.run(program_, plan());
    return is_right(engine, 1);
  }
  // Whether total, and what the comm lane saw of it, are those of `runs` runs.
  bool is_right(Engine& engine, std::uint64_t runs) const {
    std::vector<std::byte> bytes(size_bytes_);
    for (const Home& home : {total_, seen_}) {
      engine.read_home(home, bytes);
      const auto got = words(bytes.data(), size_bytes_);
      for (std::uint64_t i = 0; i < got.size(); ++i) {
        if (got[i] != runs * (pattern(7, i) + pattern(9, i))) return false;
      }
    }
    return true;
  }

 private:
  KernelId kernel(const std::string& name, Place place, const OpFunction& work) {
    return program_.add_kernel({name, place, [this, name, work](const OpContext& context) {
                                  if (before_op) before_op(name);
                                  work(context);
                                }});
  }
  struct Values {
    ValueId a, b, c, total, seen;
  };
  struct Ops {
    OpId fill_a, fill_b, sum, grow, see;
  };

  void build() {
    const Values values = add_values();
    make_plan(values, add_ops(values));
  }

  Values add_values() {
    const KindId kind =
        program_.add_kind({.name = "value", .category = "values", .resident_limit = {}});
    HomeLayout homes;
    total_ = homes.add(size_bytes_, Tier::kHost);
    seen_ = homes.add(size_bytes_, Tier::kHost);
    c_home_ = homes.add(size_bytes_, Tier::kHost);
    program_.set_home_bytes(homes.bytes());
    return {.a = program_.add_value({.size_bytes = size_bytes_, .kind = kind}),
            .b = program_.add_value({.size_bytes = size_bytes_, .kind = kind}),
            .c = program_.add_value({.kind = kind}, c_home_),
            .total = program_.add_value({.kind = kind}, total_),
            .seen = program_.add_value({.kind = kind}, seen_)};
  }

  Ops add_ops(const Values& v) {
    const std::uint64_t size = size_bytes_;
    const KernelId fill = kernel("fill", Place::kDevice, [size](const OpContext& context) {
      std::uint64_t seed = 0;
      std::memcpy(&seed, context.args.data(), sizeof seed);
      const auto out = words(context.operands[0], size);
      for (std::uint64_t i = 0; i < out.size(); ++i) out[i] = pattern(seed, i);
    });
    const KernelId add = kernel("add", Place::kDevice, [size](const OpContext& context) {
      const auto x = words(context.operands[0], size);
      const auto y = words(context.operands[1], size);
      const auto out = words(context.operands[2], size);
      for (std::uint64_t i = 0; i < out.size(); ++i) out[i] = x[i] + y[i];
    });
    const KernelId accumulate =
        kernel("accumulate", Place::kHost, [size](const OpContext& context) {
          const auto x = words(context.operands[0], size);
          const auto out = words(context.operands[1], size);
          for (std::uint64_t i = 0; i < out.size(); ++i) out[i] += x[i];
        });
    const KernelId look = kernel("look", Place::kHost, [size](const OpContext& context) {
      std::memcpy(context.operands[1], context.operands[0], size);
    });
    constexpr std::uint64_t kNoArgs = 0;
    return {.fill_a = program_.add_op(fill, {write(v.a)}, std::uint64_t{7}, {}),
            .fill_b = program_.add_op(fill, {write(v.b)}, std::uint64_t{9}, {}),
            .sum = program_.add_op(add, {read(v.a), read(v.b), write(v.c)}, kNoArgs, {}),
            .grow = program_.add_op(accumulate, {read(v.c), update(v.total)}, kNoArgs, {}),
            .see = program_.add_op(look, {read(v.total), write(v.seen)}, kNoArgs, {})};
  }

  void make_plan(const Values& v, const Ops& ops) {
    const std::uint64_t s = size_bytes_;
    plan_.emplace(program_);
    plan_test::PlanBuilder& plan = *plan_;
    const Wait filled = plan.op(ops.fill_a, {0});
    const Wait ebbed = plan.transfer(Lane::kD2h, {{0, 3 * s, v.a}}, {filled});
    const Wait spilled = plan.transfer(Lane::kNvmeWrite, {{3 * s, 0, v.a}}, {ebbed});
    plan.op(ops.fill_b, {0}, {ebbed});
    plan.move({{0, 2 * s, v.b}});
    const Wait fetched = plan.transfer(Lane::kNvmeRead, {{0, 4 * s, v.a}}, {spilled});
    const Wait loaded = plan.transfer(Lane::kH2d, {{4 * s, s, v.a}}, {fetched});
    const Wait summed = plan.op(ops.sum, {s, 2 * s, 3 * s}, {loaded});
    const Wait home = plan.transfer(Lane::kD2h, {{3 * s, c_home_.address, v.c}}, {summed});
    const Wait grown = plan.op(ops.grow, {c_home_.address, total_.address}, {home});
    plan.op(Lane::kComm, ops.see, {total_.address, seen_.address}, {grown});
  }

  const std::uint64_t size_bytes_;
  Program program_;
  Home total_, seen_, c_home_;
  std::optional<plan_test::PlanBuilder> plan_;
};

}  // namespace ebbtide::test
