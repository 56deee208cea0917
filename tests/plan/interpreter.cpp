#include "tests/plan/interpreter.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>

#include "ebbtide/error.hpp"
#include "tests/plan/random_program.hpp"

namespace ebbtide::plan_test {
namespace {

constexpr std::byte kPoison{0xFF};

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29);
}

std::uint64_t mixed(std::uint64_t hash, std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
    hash = mixed(hash, word);
  }
  return hash;
}

void fill(std::span<std::byte> bytes, std::uint64_t seed) {
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    seed = mixed(seed, at + 1);
    std::memcpy(bytes.data() + at, &seed, std::min<std::size_t>(8, bytes.size() - at));
  }
}

std::uint64_t hash_inputs(std::span<const Use> uses, std::span<const std::span<std::byte>> at,
                          OpId op) {
  std::uint64_t hash = mixed(0x243f6a8885a308d3U, op + 1);
  for (std::size_t i = 0; i < uses.size(); ++i)
    if (uses[i].reads()) hash = mixed(hash, at[i]);
  return hash;
}

void make_outputs(std::span<const Use> uses, std::span<const std::span<std::byte>> at,
                  std::uint64_t hash) {
  for (std::size_t i = 0; i < uses.size(); ++i)
    if (uses[i].writes()) fill(at[i], mixed(hash, i + 1));
}

constexpr Tier tier_from(Lane lane) {
  return lane == Lane::kH2d || lane == Lane::kNvmeWrite ? Tier::kHost
         : lane == Lane::kNvmeRead                      ? Tier::kNvme
                                                        : Tier::kDevice;
}
constexpr Tier tier_to(Lane lane) {
  return lane == Lane::kD2h || lane == Lane::kNvmeRead ? Tier::kHost
         : lane == Lane::kNvmeWrite                    ? Tier::kNvme
                                                       : Tier::kDevice;
}

}  // namespace

Homes initial_homes(const Program& program, std::uint64_t seed) {
  Homes homes(program.value_count());
  for (ValueId value = 0; value < homes.size(); ++value) {
    if (program.home(value) == nullptr) continue;
    homes[value].resize(program.value(value).size_bytes);
    fill(homes[value], mixed(seed, value + 1));
  }
  return homes;
}

Homes run_in_order(const Program& program, Homes homes) {
  Homes all = std::move(homes);
  for (ValueId value = 0; value < all.size(); ++value)
    all[value].resize(program.value(value).size_bytes, kPoison);
  std::vector<std::span<std::byte>> operands;
  for (OpId op = 0; op < program.op_count(); ++op) {
    operands.clear();
    for (const Use use : program.uses(op)) operands.emplace_back(all[use.value]);
    make_outputs(program.uses(op), operands, hash_inputs(program.uses(op), operands, op));
  }
  for (ValueId value = 0; value < all.size(); ++value)
    if (program.home(value) == nullptr) all[value].clear();
  return all;
}

struct Interpreter::Run {
  struct Flying {
    std::uint32_t task = 0;
    bool worked = false;
    std::uint64_t seen = 0;  // hash of what it reads, when it started
  };
  struct LaneState {
    std::uint32_t started = 0;
    std::uint32_t prefix = 0;  // this many first tasks have finished
    std::vector<Flying> flying;
    std::uint64_t start_weight = 1;
    std::uint64_t finish_weight = 1;
  };

  Run(Interpreter& in, std::uint64_t seed)
      : program(in.program_), plan(in.plan_), arenas(in.arenas_), dice(seed) {}

  void go() {
    std::size_t left = 0;
    for (const auto& tasks : plan.tasks) left += 2 * tasks.size();
    draw_weights();
    for (; left > 0; --left) {
      if (dice.chance(0.05)) draw_weights();
      event();
    }
  }

  void draw_weights() {
    for (LaneState& lane : lanes) {
      lane.start_weight = std::uint64_t{1} << dice.between(0, 12);
      lane.finish_weight = std::uint64_t{1} << dice.between(0, 12);
    }
  }

  bool can_start(std::size_t lane) const {
    const LaneState& state = lanes[lane];
    if (state.started == plan.tasks[lane].size()) return false;
    if (state.started >= state.prefix + plan.width[lane]) return false;
    return std::ranges::all_of(plan.waits_of(plan.tasks[lane][state.started]),
                               [&](Wait wait) { return lanes[wait.lane].prefix >= wait.count; });
  }

  // Starts or finishes one task, drawn by the weights of what can be done now.
  void event() {
    std::array<std::uint64_t, 2 * kLaneCount> weights{};
    std::uint64_t sum = 0;
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      if (can_start(lane)) weights[2 * lane] = lanes[lane].start_weight;
      if (!lanes[lane].flying.empty()) weights[2 * lane + 1] = lanes[lane].finish_weight;
      sum += weights[2 * lane] + weights[2 * lane + 1];
    }
    EBBTIDE_CHECK(sum > 0, "no task can go on");
    std::uint64_t drawn = dice.between(0, sum - 1);
    std::size_t which = 0;
    while (drawn >= weights[which]) drawn -= weights[which++];
    which % 2 == 0 ? start(which / 2) : finish(which / 2);
  }

  void start(std::size_t lane) {
    LaneState& state = lanes[lane];
    Flying flying{.task = state.started++};
    const Task& task = plan.tasks[lane][flying.task];
    if (dice.chance(0.3)) {
      work(static_cast<Lane>(lane), task, 0);
      flying.worked = true;
    } else {
      flying.seen = hash_sources(static_cast<Lane>(lane), task);
      poison_targets(static_cast<Lane>(lane), task);
    }
    state.flying.push_back(flying);
  }

  void finish(std::size_t lane) {
    LaneState& state = lanes[lane];
    const std::size_t which =
        dice.chance(0.5) ? state.flying.size() - 1 : dice.between(0, state.flying.size() - 1);
    const Flying flying = state.flying[which];
    state.flying.erase(state.flying.begin() + static_cast<std::ptrdiff_t>(which));
    const Task& task = plan.tasks[lane][flying.task];
    if (!flying.worked) {
      const std::uint64_t now = hash_sources(static_cast<Lane>(lane), task);
      work(static_cast<Lane>(lane), task, now ^ flying.seen);
    }
    state.prefix = state.started;
    for (const Flying& other : state.flying) state.prefix = std::min(state.prefix, other.task);
  }

  std::span<std::byte> bytes(Tier tier, std::uint64_t address, ValueId value) {
    return std::span(arenas[index(tier)]).subspan(address, program.value(value).size_bytes);
  }

  std::span<const std::span<std::byte>> operands(const Task& task) {
    const Tier tier = program.place(task.first) == Place::kDevice ? Tier::kDevice : Tier::kHost;
    std::uint32_t use = program.op(task.first).uses_begin;
    scratch.clear();
    for (const Use it : program.uses(task.first))
      scratch.push_back(bytes(tier, plan.operand_address(use++), it.value));
    return scratch;
  }

  // A move's segments may feed each other, so its sources are not watched.
  std::uint64_t hash_sources(Lane lane, const Task& task) {
    if (task.kind() == TaskKind::kMove) return 0;
    if (task.kind() == TaskKind::kOp)
      return hash_inputs(program.uses(task.first), operands(task), task.first);
    std::uint64_t hash = 0;
    for (const Segment& segment : plan.segments_of(task))
      hash = mixed(hash, bytes(tier_from(lane), segment.from, segment.value));
    return hash;
  }

  void poison_targets(Lane lane, const Task& task) {
    if (task.kind() == TaskKind::kMove) return;
    if (task.kind() == TaskKind::kTransfer) {
      for (const Segment& segment : plan.segments_of(task))
        std::ranges::fill(bytes(tier_to(lane), segment.to, segment.value), kPoison);
      return;
    }
    const std::span<const Use> uses = program.uses(task.first);
    const auto at = operands(task);
    for (std::size_t i = 0; i < uses.size(); ++i)
      if (uses[i].access() == Access::kWrite) std::ranges::fill(at[i], kPoison);
  }

  // `disturbance` is 0 unless what the task reads changed while it ran.
  void work(Lane lane, const Task& task, std::uint64_t disturbance) {
    if (task.kind() == TaskKind::kOp) {
      const std::span<const Use> uses = program.uses(task.first);
      const auto at = operands(task);
      return make_outputs(uses, at, hash_inputs(uses, at, task.first) ^ disturbance);
    }
    const bool moves = task.kind() == TaskKind::kMove;
    for (const Segment& segment : plan.segments_of(task)) {
      const auto from = bytes(moves ? Tier::kDevice : tier_from(lane), segment.from, segment.value);
      const auto to = bytes(moves ? Tier::kDevice : tier_to(lane), segment.to, segment.value);
      std::memmove(to.data(), from.data(), from.size());
      if (disturbance != 0) fill(to, disturbance);
    }
  }

  const Program& program;
  const Plan& plan;
  PerTier<Bytes>& arenas;
  Dice dice;
  PerLane<LaneState> lanes;
  std::vector<std::span<std::byte>> scratch;
};

Interpreter::Interpreter(const Program& program, const Plan& plan)
    : program_(program), plan_(plan) {
  for (std::size_t tier = 0; tier < kTierCount; ++tier)
    arenas_[tier].resize(plan.budgets.of(static_cast<Tier>(tier)), kPoison);
  collect_touched();
}

// Every place that a task writes, so that a run can begin afresh without filling whole arenas.
void Interpreter::collect_touched() {
  PerTier<std::map<std::uint64_t, std::uint64_t>> sizes;
  const auto touch = [&](Tier tier, std::uint64_t address, ValueId value) {
    std::uint64_t& size = sizes[index(tier)][address];
    size = std::max(size, program_.value(value).size_bytes);
  };
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    for (const Task& task : plan_.tasks[lane]) {
      if (task.kind() == TaskKind::kOp) {
        const Tier tier =
            program_.place(task.first) == Place::kDevice ? Tier::kDevice : Tier::kHost;
        std::uint32_t use = program_.op(task.first).uses_begin;
        for (const Use it : program_.uses(task.first))
          touch(tier, plan_.operand_address(use++), it.value);
      } else {
        for (const Segment& segment : plan_.segments_of(task))
          touch(tier_to(static_cast<Lane>(lane)), segment.to, segment.value);
      }
    }
  }
  for (std::size_t tier = 0; tier < kTierCount; ++tier)
    for (const auto& [begin, size_bytes] : sizes[tier])
      touched_[tier].push_back({begin, size_bytes});
}

Homes Interpreter::run(const Homes& homes, std::uint64_t order_seed) {
  for (std::size_t tier = 0; tier < kTierCount; ++tier)
    for (const Range range : touched_[tier])
      std::fill_n(arenas_[tier].begin() + static_cast<std::ptrdiff_t>(range.begin),
                  range.size_bytes, kPoison);
  for (ValueId value = 0; value < homes.size(); ++value)
    if (const Home* home = program_.home(value))
      std::ranges::copy(homes[value], arenas_[index(home->tier)].begin() +
                                          static_cast<std::ptrdiff_t>(home->address));
  Run(*this, order_seed).go();
  Homes after(homes.size());
  for (ValueId value = 0; value < homes.size(); ++value) {
    const Home* home = program_.home(value);
    if (home == nullptr) continue;
    const auto begin =
        arenas_[index(home->tier)].begin() + static_cast<std::ptrdiff_t>(home->address);
    after[value].assign(begin, begin + static_cast<std::ptrdiff_t>(home->size_bytes));
  }
  return after;
}

}  // namespace ebbtide::plan_test
