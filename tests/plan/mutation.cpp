#include "tests/plan/mutation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "tests/plan/plan_builder.hpp"

namespace ebbtide::plan_test {
namespace {

class Mutation {
 public:
  Mutation(const Program& program, Plan& plan, Dice& dice)
      : program_(program), plan_(plan), dice_(dice) {}

  // Nothing where the plan has no place for the kind drawn.
  std::optional<std::string> try_one() {
    // rarely: many widths are right
    if (dice_.chance(0.02)) return change_width();
    switch (dice_.between(0, 10)) {
      case 0:
        return drop_wait();
      case 1:
        return lower_wait();
      case 2:
        return turn_wait();
      case 3:
        return hand_wait_on();
      case 4:
        return change_operand();
      case 5:
        return change_segment();
      case 6:
        return reuse_segment_address();
      case 7:
        return rewrite_disk_offset();
      case 8:
        return swap_tasks();
      case 9:
        return drop_segment();
      default:
        return drop_task();
    }
  }

 private:
  struct At {
    std::size_t lane = 0;
    std::size_t task = 0;
  };
  using Words = std::optional<std::string>;

  template <typename Test>
  std::optional<At> draw(Test test) {
    std::vector<At> found;
    for (std::size_t lane = 0; lane < kLaneCount; ++lane)
      for (std::size_t i = 0; i < plan_.tasks[lane].size(); ++i)
        if (test(At{lane, i})) found.push_back({lane, i});
    if (found.empty()) return std::nullopt;
    return found[dice_.between(0, found.size() - 1)];
  }
  Task& task(At at) { return plan_.tasks[at.lane][at.task]; }
  std::optional<At> draw_waiting() {
    return draw([&](At at) { return task(at).wait_count > 0; });
  }
  std::optional<At> draw_moving() {
    return draw([&](At at) { return task(at).kind() != TaskKind::kOp; });
  }
  Wait& draw_wait(At at) {
    return plan_.waits[task(at).waits_begin + dice_.between(0, task(at).wait_count - 1U)];
  }
  Segment& draw_segment(At at) {
    return plan_.segments[task(at).first + dice_.between(0, task(at).count - 1U)];
  }
  static std::string words(const char* what, At at) {
    return fmt::format("{}: {} task {}", what, name(static_cast<Lane>(at.lane)), at.task);
  }

  Words drop_wait() {
    const auto at = draw_waiting();
    if (!at) return std::nullopt;
    std::swap(draw_wait(*at), plan_.waits[task(*at).waits_begin + task(*at).wait_count - 1U]);
    --task(*at).wait_count;
    return words("a wait dropped", *at);
  }
  Words lower_wait() {
    const auto at = draw_waiting();
    if (!at) return std::nullopt;
    Wait& wait = draw_wait(*at);
    const std::uint64_t by = dice_.between(1, 3);
    wait.count = wait.count > by ? (wait.count - by) & 0x1fffffffU : 0;
    return words("a wait lowered", *at);
  }
  Words turn_wait() {
    const auto at = draw_waiting();
    if (!at) return std::nullopt;
    draw_wait(*at).lane = dice_.between(0, kLaneCount - 1) & 7U;
    return words("a wait for another lane", *at);
  }
  // The next task of the lane waits in place of this one.
  Words hand_wait_on() {
    const auto at = draw([&](At a) {
      return task(a).wait_count > 0 && a.task + 1 < plan_.tasks[a.lane].size() &&
             task({a.lane, a.task + 1}).wait_count == 0;
    });
    if (!at) return std::nullopt;
    Task& next = task({at->lane, at->task + 1});
    next.waits_begin = task(*at).waits_begin;
    next.wait_count = task(*at).wait_count;
    task(*at).wait_count = 0;
    return words("waits handed on to the next task", *at);
  }

  Words change_operand() {
    const std::uint64_t use = dice_.between(0, plan_.operand_units.size() - 1);
    std::uint32_t& units = plan_.operand_units[use];
    if (dice_.chance(0.5)) {
      units = plan_.operand_units[dice_.between(0, plan_.operand_units.size() - 1)];
    } else {
      units += dice_.chance(0.5) ? 1U : ~0U;
    }
    return fmt::format("an operand moved: use {} to {}", use,
                       plan_.operand_address(static_cast<std::uint32_t>(use)));
  }
  Words change_segment() {
    const auto at = draw_moving();
    if (!at) return std::nullopt;
    Segment& segment = draw_segment(*at);
    if (dice_.chance(0.3)) {
      segment.value = static_cast<ValueId>(dice_.between(0, program_.value_count() - 1));
      return words("a segment of another value", *at);
    }
    std::uint64_t& address = dice_.chance(0.5) ? segment.from : segment.to;
    address += dice_.chance(0.5) ? kPageAlignment : -kDeviceAlignment;
    return words("a segment shifted", *at);
  }
  Words reuse_segment_address() {
    const auto at = draw_moving();
    if (!at) return std::nullopt;
    const auto other =
        draw([&](At a) { return a.lane == at->lane && task(a).kind() == task(*at).kind(); });
    if (dice_.chance(0.7)) {
      draw_segment(*at).to = draw_segment(*other).to;
      return words("a segment to where another goes", *at);
    }
    draw_segment(*at).from = draw_segment(*other).from;
    return words("a segment from where another comes", *at);
  }
  // Writes a value to the disk offset of one that is written shortly before, reads following it,
  // with the queue deep enough for both to be in flight.
  Words rewrite_disk_offset() {
    const std::size_t lane = index(Lane::kNvmeWrite);
    const auto at = draw([&](At a) { return a.lane == lane && a.task > 0; });
    if (!at) return std::nullopt;
    plan_.width[lane] = 32;
    const std::size_t back = dice_.between(1, std::min<std::size_t>(at->task, 31));
    const std::uint64_t offset = draw_segment({lane, at->task - back}).to;
    Segment& segment = draw_segment(*at);
    const std::uint64_t old = std::exchange(segment.to, offset);
    for (const Task& reads : plan_.tasks[index(Lane::kNvmeRead)])
      for (std::uint32_t i = reads.first; i < reads.first + reads.count; ++i)
        if (plan_.segments[i].value == segment.value && plan_.segments[i].from == old)
          plan_.segments[i].from = offset;
    return words("one disk offset written twice", *at);
  }

  Words change_width() {
    const std::size_t lane = dice_.chance(0.8) ? index(Lane::kNvmeWrite) + dice_.between(0, 1)
                                               : dice_.between(0, kLaneCount - 1);
    const std::uint32_t width = plan_.width[lane];
    plan_.width[lane] = static_cast<std::uint32_t>(dice_.between(0, 2 * width + 1));
    return fmt::format("a width changed: {} from {} to {}", name(static_cast<Lane>(lane)), width,
                       plan_.width[lane]);
  }

  Words swap_tasks() {
    const auto at = draw([&](At a) { return a.task + 1 < plan_.tasks[a.lane].size(); });
    if (!at) return std::nullopt;
    std::swap(task(*at), task({at->lane, at->task + 1}));
    return words("swapped with the next", *at);
  }
  Words drop_segment() {
    const auto at =
        draw([&](At a) { return task(a).kind() != TaskKind::kOp && task(a).count > 1; });
    if (!at) return std::nullopt;
    std::swap(draw_segment(*at), plan_.segments[task(*at).first + task(*at).count - 1U]);
    --task(*at).count;
    return words("a segment dropped", *at);
  }
  Words drop_task() {
    const auto at = draw_moving();
    if (!at) return std::nullopt;
    auto& tasks = plan_.tasks[at->lane];
    tasks.erase(tasks.begin() + static_cast<std::ptrdiff_t>(at->task));
    for (Wait& wait : plan_.waits)
      if (wait.lane == at->lane && wait.count > at->task) --wait.count;
    return words("dropped", *at);
  }

  const Program& program_;
  Plan& plan_;
  Dice& dice_;
};

}  // namespace

std::string mutate(const Program& program, Plan& plan, Dice& dice) {
  for (;;)
    if (const auto words = Mutation(program, plan, dice).try_one()) return *words;
}

}  // namespace ebbtide::plan_test
