#include "tests/plan/naive_planner.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "tests/plan/random_program.hpp"

namespace ebbtide::plan_test {
namespace {

struct NoHole {};

// Free bytes of one tier, first fit.
class Holes {
 public:
  explicit Holes(std::uint64_t begin, std::uint64_t end) {
    if (begin < end) free_[begin] = end;
  }
  std::optional<std::uint64_t> take(std::uint64_t size, bool from_end) {
    std::optional<std::uint64_t> found;
    for (const auto& [begin, end] : free_)
      if (end - begin >= size && (!found || from_end)) found = from_end ? end - size : begin;
    if (found) cut(*found, *found + size);
    return found;
  }
  void give(std::uint64_t begin, std::uint64_t end) {
    auto next = free_.lower_bound(begin);
    if (next != free_.end() && next->first == end) {
      end = next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin() && std::prev(next)->second == begin) {
      std::prev(next)->second = end;
    } else {
      free_[begin] = end;
    }
  }

 private:
  void cut(std::uint64_t begin, std::uint64_t end) {
    auto hole = std::prev(free_.upper_bound(begin));
    const auto [hole_begin, hole_end] = *hole;
    free_.erase(hole);
    if (hole_begin < begin) free_[hole_begin] = begin;
    if (end < hole_end) free_[end] = hole_end;
  }
  std::map<std::uint64_t, std::uint64_t> free_;
};

struct Span {
  Tier tier = Tier::kDevice;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool meets(const Span& other) const {
    return tier == other.tier && begin < other.end && other.begin < end;
  }
};

// A task where it stands in the one order in which the planner thinks.
struct Step {
  Lane lane = Lane::kCompute;
  TaskKind kind = TaskKind::kOp;
  OpId op = 0;
  std::vector<Segment> segments{};
  std::vector<Span> reads{};
  std::vector<Span> writes{};
};

bool conflict(const Step& a, const Step& b) {
  const auto meet = [](const std::vector<Span>& xs, const std::vector<Span>& ys) {
    for (const Span& x : xs)
      for (const Span& y : ys)
        if (x.meets(y)) return true;
    return false;
  };
  return meet(a.writes, b.writes) || meet(a.writes, b.reads) || meet(a.reads, b.writes);
}

// Where each value is, op by op, and the steps that this takes.
class Residency {
 public:
  Residency(const Program& program, const Budgets& budgets, const NaiveOptions& options)
      : program_(program), options_(options), dice_(options.seed) {
    for (std::size_t tier = 0; tier < kTierCount; ++tier) {
      const auto unit = alignment(static_cast<Tier>(tier));
      holes_.emplace_back(align_up(program.home_bytes()[tier], unit),
                          budgets.of(static_cast<Tier>(tier)) / unit * unit);
    }
    values_.resize(program.value_count());
    operand_units_.resize(program.use_count());
    for (ValueId v = 0; v < values_.size(); ++v)
      if (const Home* home = program.home(v)) values_[v].at[index(home->tier)] = home->address;
    for (OpId op = 0; op < program.op_count(); ++op)
      for (const Use use : program.uses(op)) values_[use.value].last_op = op;
  }

  void run() {
    for (OpId op = 0; op < program_.op_count(); ++op) {
      if (dice_.chance(options_.move_chance)) move_one();
      run_op(op);
    }
    for (ValueId v = 0; v < values_.size(); ++v)
      if (const Home* home = program_.home(v)) bring(v, home->tier);
  }

  const std::vector<Step>& steps() const { return steps_; }
  std::vector<std::uint32_t> take_operand_units() { return std::move(operand_units_); }

 private:
  struct State {
    PerTier<std::optional<std::uint64_t>> at;  // copies of the current version
    OpId last_op = 0;
    bool pinned = false;
  };

  std::uint64_t size(ValueId v, Tier tier) const {
    return extent(program_.value(v).size_bytes, tier);
  }
  Span span(ValueId v, Tier tier, std::uint64_t address) const {
    return {tier, address, address + size(v, tier)};
  }
  bool is_home(ValueId v, Tier tier) const {
    return program_.home(v) != nullptr && program_.home(v)->tier == tier;
  }

  void run_op(OpId op) {
    const Tier tier = program_.operand_tier(op);
    const std::span<const Use> uses = program_.uses(op);
    for (const Use use : uses) values_[use.value].pinned = true;
    for (const Use use : uses)
      if (use.reads()) bring(use.value, tier);
    for (const Use use : uses) {
      if (use.access() == Access::kWrite) forget(use.value);
      if (use.access() == Access::kWrite) place(use.value, tier);
    }
    Step step{.lane = op_lane(program_.place(op)), .op = op};
    std::uint32_t at = program_.op(op).uses_begin;
    for (const Use use : uses) {
      const std::uint64_t address = *values_[use.value].at[index(tier)];
      operand_units_[at++] = static_cast<std::uint32_t>(address / kDeviceAlignment);
      if (use.reads()) step.reads.push_back(span(use.value, tier, address));
      if (use.writes()) step.writes.push_back(span(use.value, tier, address));
    }
    steps_.push_back(std::move(step));
    for (const Use use : uses) {
      if (use.writes()) forget_but(use.value, tier);
      values_[use.value].pinned = false;
      if (values_[use.value].last_op == op && program_.home(use.value) == nullptr)
        forget(use.value);
    }
  }

  void drop(ValueId v, Tier tier) {
    std::optional<std::uint64_t>& at = values_[v].at[index(tier)];
    if (at && !is_home(v, tier)) holes_[index(tier)].give(*at, *at + size(v, tier));
    at.reset();
  }
  void forget(ValueId v) {
    for (std::size_t tier = 0; tier < kTierCount; ++tier) drop(v, static_cast<Tier>(tier));
  }
  void forget_but(ValueId v, Tier keep) {
    for (std::size_t tier = 0; tier < kTierCount; ++tier)
      if (static_cast<Tier>(tier) != keep) drop(v, static_cast<Tier>(tier));
  }

  // Makes room for the value in the tier: at its home, in a hole, or in one made by evicting.
  void place(ValueId v, Tier tier) {
    std::optional<std::uint64_t>& at = values_[v].at[index(tier)];
    if (is_home(v, tier)) {
      at = program_.home(v)->address;
      return;
    }
    while (!(at = holes_[index(tier)].take(size(v, tier), dice_.chance(0.5)))) evict_one(tier);
  }

  void evict_one(Tier tier) {
    std::vector<ValueId> can;
    for (ValueId v = 0; v < values_.size(); ++v)
      if (values_[v].at[index(tier)] && !values_[v].pinned && !is_home(v, tier) &&
          may_leave(v, tier))
        can.push_back(v);
    if (can.empty()) throw NoHole{};
    const ValueId v = can[dice_.between(0, can.size() - 1)];
    values_[v].pinned = true;
    if (!has_other_copy(v, tier)) copy_down(v, tier);
    values_[v].pinned = false;
    drop(v, tier);
  }

  bool has_other_copy(ValueId v, Tier tier) const {
    for (std::size_t i = 0; i < kTierCount; ++i)
      if (i != index(tier) && values_[v].at[i]) return true;
    return false;
  }
  bool may_leave(ValueId v, Tier tier) const {
    if (has_other_copy(v, tier)) return true;
    const Reach reach = program_.value(v).reach;
    if (tier == Tier::kDevice) return reach != Reach::kDevice;
    return tier == Tier::kHost && reach != Reach::kHost && reach != Reach::kDevice;
  }
  void copy_down(ValueId v, Tier tier) {
    bring(v, tier == Tier::kDevice ? Tier::kHost : Tier::kNvme);
  }

  void bring(ValueId v, Tier tier) {
    const auto& at = values_[v].at;
    if (at[index(tier)]) return;
    const bool was_pinned = std::exchange(values_[v].pinned, true);
    if (tier == Tier::kHost) {
      copy(v, at[index(Tier::kDevice)] ? Lane::kD2h : Lane::kNvmeRead);
    } else {
      bring(v, Tier::kHost);
      copy(v, tier == Tier::kDevice ? Lane::kH2d : Lane::kNvmeWrite);
    }
    values_[v].pinned = was_pinned;
  }

  void copy(ValueId v, Lane lane) {
    const auto [from, to] = route(lane);
    place(v, to);
    Step step{.lane = lane, .kind = TaskKind::kTransfer};
    step.segments = {{*values_[v].at[index(from)], *values_[v].at[index(to)], v}};
    step.reads = {span(v, from, *values_[v].at[index(from)])};
    step.writes = {span(v, to, *values_[v].at[index(to)])};
    const bool joins = !steps_.empty() && steps_.back().lane == lane &&
                       !conflict(steps_.back(), step) && dice_.chance(options_.join_chance);
    if (!joins) {
      steps_.push_back(std::move(step));
      return;
    }
    Step& last = steps_.back();
    last.segments.push_back(step.segments[0]);
    last.reads.push_back(step.reads[0]);
    last.writes.push_back(step.writes[0]);
  }

  // Moves a value of the device to another place, which may overlap its own.
  void move_one() {
    std::vector<ValueId> can;
    for (ValueId v = 0; v < values_.size(); ++v)
      if (values_[v].at[index(Tier::kDevice)] && !is_home(v, Tier::kDevice)) can.push_back(v);
    if (can.empty()) return;
    const ValueId v = can[dice_.between(0, can.size() - 1)];
    const std::uint64_t from = *values_[v].at[index(Tier::kDevice)];
    drop(v, Tier::kDevice);
    place(v, Tier::kDevice);
    const std::uint64_t to = *values_[v].at[index(Tier::kDevice)];
    if (to == from) return;
    steps_.push_back({.lane = Lane::kCompute,
                      .kind = TaskKind::kMove,
                      .segments = {{from, to, v}},
                      .reads = {span(v, Tier::kDevice, from)},
                      .writes = {span(v, Tier::kDevice, to)}});
  }

  const Program& program_;
  NaiveOptions options_;
  Dice dice_;
  std::vector<Holes> holes_;
  std::vector<State> values_;
  std::vector<std::uint32_t> operand_units_;
  std::vector<Step> steps_;
};

using Known = PerLane<std::uint32_t>;

// Gives each step its place in a lane and the waits without which two steps that share bytes
// would not be ordered.
class Ordering {
 public:
  Ordering(const std::vector<Step>& steps, Plan& plan) : steps_(steps), plan_(plan) {
    for (const Step& step : steps) {
      place_.push_back(static_cast<std::uint32_t>(count_[index(step.lane)]++));
      add(place_.size() - 1);
    }
  }

 private:
  void add(std::size_t at) {
    const Step& step = steps_[at];
    const std::size_t lane = index(step.lane);
    Known base = place_[at] > 0 ? known_[lane].back() : Known{};
    if (place_[at] + 1 > plan_.width[lane])
      base[lane] = std::max(base[lane], place_[at] + 1 - plan_.width[lane]);
    std::vector<Wait> waits = reduced(base, needed(at));
    Known known = base;
    for (const Wait wait : waits) join(known, wait);
    known_[lane].push_back(known);
    append(step, waits);
  }

  std::vector<Wait> needed(std::size_t at) const {
    Known last{};
    for (std::size_t i = 0; i < at; ++i)
      if (conflict(steps_[i], steps_[at])) last[index(steps_[i].lane)] = place_[i] + 1;
    std::vector<Wait> waits;
    for (std::uint32_t lane = 0; lane < kLaneCount; ++lane)
      if (last[lane] > 0) waits.push_back({lane & 7U, last[lane] & 0x1fffffffU});
    return waits;
  }

  std::vector<Wait> reduced(const Known& base, std::vector<Wait> waits) const {
    for (std::size_t i = 0; i < waits.size();) {
      Known rest = base;
      for (std::size_t j = 0; j < waits.size(); ++j)
        if (j != i) join(rest, waits[j]);
      if (rest[waits[i].lane] < waits[i].count) {
        ++i;
      } else {
        waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    return waits;
  }

  void join(Known& known, Wait wait) const {
    const Known& other = known_[wait.lane][wait.count - 1];
    for (std::size_t lane = 0; lane < kLaneCount; ++lane)
      known[lane] = std::max(known[lane], other[lane]);
    known[wait.lane] = std::max<std::uint32_t>(known[wait.lane], wait.count);
  }

  void append(const Step& step, const std::vector<Wait>& waits) {
    Task task;
    const bool is_op = step.kind == TaskKind::kOp;
    task.first = is_op ? step.op : static_cast<std::uint32_t>(plan_.segments.size());
    task.count = static_cast<std::uint32_t>(step.segments.size()) & 0xfffffU;
    task.kind_bits = static_cast<std::uint32_t>(step.kind) & 0xfU;
    task.waits_begin = static_cast<std::uint32_t>(plan_.waits.size());
    task.wait_count = static_cast<std::uint32_t>(waits.size()) & 0xffU;
    plan_.waits.insert(plan_.waits.end(), waits.begin(), waits.end());
    plan_.segments.insert(plan_.segments.end(), step.segments.begin(), step.segments.end());
    plan_.tasks[index(step.lane)].push_back(task);
  }

  const std::vector<Step>& steps_;
  Plan& plan_;
  PerLane<std::size_t> count_{};
  std::vector<std::uint32_t> place_;   // by step: index in its lane
  PerLane<std::vector<Known>> known_;  // by task: what its start implies
};

}  // namespace

std::optional<Plan> naive_plan(const Program& program, const Budgets& budgets,
                               const NaiveOptions& options) {
  Residency residency(program, budgets, options);
  try {
    residency.run();
  } catch (const NoHole&) {
    return std::nullopt;
  }
  Plan plan;
  plan.width.fill(1);
  plan.width[index(Lane::kNvmeWrite)] = plan.width[index(Lane::kNvmeRead)] = options.nvme_width;
  plan.budgets = budgets;
  plan.span_bytes = {budgets.device_bytes, budgets.host_bytes, budgets.nvme_bytes};
  plan.operand_units = residency.take_operand_units();
  Ordering(residency.steps(), plan);
  for (std::size_t lane = 0; lane < kLaneCount; ++lane)
    for (const Task& task : plan.tasks[lane])
      if (task.kind() == TaskKind::kTransfer)
        for (const Segment& segment : plan.segments_of(task))
          plan.moved_bytes[lane] += program.value(segment.value).size_bytes;
  return plan;
}

}  // namespace ebbtide::plan_test
