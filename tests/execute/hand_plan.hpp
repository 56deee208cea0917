// Plans written by hand, task by task.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"

namespace ebbtide::test {

class HandPlan {
 public:
  explicit HandPlan(const Program& program) : program_(program) {
    plan_.width.fill(1);
    make_room();
  }

  // For the operands of ops that were added to the program since.
  void make_room() { plan_.operand_units.resize(program_.use_count()); }

  void set_width(Lane lane, std::uint32_t width) { plan_.width[index(lane)] = width; }

  // Each returns the wait for "this task and all before it on its lane".
  Wait op(Lane lane, OpId id, std::initializer_list<std::uint64_t> addresses,
          std::initializer_list<Wait> waits = {}) {
    std::uint32_t use = program_.op(id).uses_begin;
    for (const std::uint64_t address : addresses) {
      const Use& of = program_.uses(id)[use - program_.op(id).uses_begin];
      const Tier tier = program_.operand_tier(id);
      plan_.operand_units[use++] = static_cast<std::uint32_t>(address / kDeviceAlignment);
      span(tier, address, of.value);
    }
    return add(lane, TaskKind::kOp, id, 0, waits);
  }
  Wait move(std::initializer_list<Segment> segments, std::initializer_list<Wait> waits = {}) {
    return travel(Lane::kCompute, TaskKind::kMove, segments, waits);
  }
  Wait transfer(Lane lane, std::initializer_list<Segment> segments,
                std::initializer_list<Wait> waits = {}) {
    return travel(lane, TaskKind::kTransfer, segments, waits);
  }

  const Plan& plan() const { return plan_; }

  // The same plan without its n-th wait.
  static Plan without_wait(Plan plan, std::size_t n) {
    for (auto& tasks : plan.tasks) {
      for (Task& task : tasks) {
        if (n >= task.waits_begin && n < task.waits_begin + task.wait_count) {
          std::swap(plan.waits[n], plan.waits[task.waits_begin + task.wait_count - 1]);
          task.wait_count = static_cast<std::uint8_t>(task.wait_count - 1);
          return plan;
        }
      }
    }
    return plan;
  }

 private:
  static std::pair<Tier, Tier> ends(Lane lane) {
    switch (lane) {
      case Lane::kD2h:
        return {Tier::kDevice, Tier::kHost};
      case Lane::kH2d:
        return {Tier::kHost, Tier::kDevice};
      case Lane::kNvmeWrite:
        return {Tier::kHost, Tier::kNvme};
      case Lane::kNvmeRead:
        return {Tier::kNvme, Tier::kHost};
      default:
        return {Tier::kDevice, Tier::kDevice};
    }
  }
  void span(Tier tier, std::uint64_t address, ValueId value) {
    std::uint64_t& end = plan_.span_bytes[index(tier)];
    end = std::max(end, address + extent(program_.value(value).size_bytes, tier));
  }
  Wait travel(Lane lane, TaskKind kind, std::initializer_list<Segment> segments,
              std::initializer_list<Wait> waits) {
    const auto first = static_cast<std::uint32_t>(plan_.segments.size());
    for (const Segment& segment : segments) {
      plan_.segments.push_back(segment);
      span(ends(lane).first, segment.from, segment.value);
      span(ends(lane).second, segment.to, segment.value);
    }
    return add(lane, kind, first, static_cast<std::uint32_t>(segments.size()), waits);
  }
  Wait add(Lane lane, TaskKind kind, std::uint32_t first, std::uint32_t count,
           std::initializer_list<Wait> waits) {
    Task task;
    task.first = first;
    task.count = count & 0xfffffU;
    task.waits_begin = static_cast<std::uint32_t>(plan_.waits.size());
    task.wait_count = static_cast<std::uint8_t>(waits.size());
    task.kind_bits = static_cast<std::uint8_t>(kind) & 0xfU;
    plan_.waits.insert(plan_.waits.end(), waits);
    std::vector<Task>& tasks = plan_.tasks[index(lane)];
    tasks.push_back(task);
    return {static_cast<std::uint32_t>(lane) & 7U,
            static_cast<std::uint32_t>(tasks.size()) & 0x1fffffffU};
  }

  const Program& program_;
  Plan plan_;
};

}  // namespace ebbtide::test
