#include "tests/plan/interpreter.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

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

constexpr std::uint64_t kWordBytes = 8;

// Bytes that stand for this many of a tier.
constexpr std::uint64_t held_bytes(std::uint64_t bytes, Content content) {
  if (content == Content::kBytes) return bytes;
  return (bytes + kDeviceAlignment - 1) / kDeviceAlignment * kWordBytes;
}

}  // namespace

Homes initial_homes(const Program& program, std::uint64_t seed, Content content) {
  Homes homes(program.value_count());
  for (ValueId value = 0; value < homes.size(); ++value) {
    if (program.home(value) == nullptr) continue;
    homes[value].resize(held_bytes(program.value(value).size_bytes, content));
    fill(homes[value], mixed(seed, value + 1));
  }
  return homes;
}

Homes run_in_order(const Program& program, Homes homes, Content content) {
  Homes all = std::move(homes);
  for (ValueId value = 0; value < all.size(); ++value)
    all[value].resize(held_bytes(program.value(value).size_bytes, content), kPoison);
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

  Run(Interpreter& by, std::uint64_t seed)
      : in(by), program(by.program_), plan(by.plan_), dice(seed) {
    for (const Tenancy& tenancy : in.tenancies_.all) needed_by.push_back(tenancy.tasks);
  }

  void go() {
    for (std::uint32_t id = 0; id < needed_by.size(); ++id)
      if (needed_by[id] == 0) free(id);
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
    for (const std::uint32_t id : in.tenancies_.of[lane][flying.task])
      if (--needed_by[id] == 0) free(id);
  }

  void free(std::uint32_t id) {
    const Tenancy& tenancy = in.tenancies_.all[id];
    for (const Range range : tenancy.freed) in.poison(tenancy.tier, range);
  }

  std::span<std::byte> bytes(Tier tier, std::uint64_t address, ValueId value) {
    return in.bytes(tier, address, program.value(value).size_bytes);
  }

  std::span<const std::span<std::byte>> operands(const Task& task) {
    const Tier tier = program.operand_tier(task.first);
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
      hash = mixed(hash, bytes(route(lane).from, segment.from, segment.value));
    return hash;
  }

  void poison_targets(Lane lane, const Task& task) {
    if (task.kind() == TaskKind::kMove) return;
    if (task.kind() == TaskKind::kTransfer) {
      for (const Segment& segment : plan.segments_of(task))
        std::ranges::fill(bytes(route(lane).to, segment.to, segment.value), kPoison);
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
      if (!in.run_op_)
        return make_outputs(uses, at, hash_inputs(uses, at, task.first) ^ disturbance);
      in.run_op_(task.first, at);
      if (disturbance != 0) make_outputs(uses, at, disturbance);
      return;
    }
    for (const Segment& segment : plan.segments_of(task)) {
      const auto from = bytes(route(lane).from, segment.from, segment.value);
      const auto to = bytes(route(lane).to, segment.to, segment.value);
      std::memmove(to.data(), from.data(), from.size());
      if (disturbance != 0) fill(to, disturbance);
    }
  }

  Interpreter& in;
  const Program& program;
  const Plan& plan;
  Dice dice;
  std::vector<std::uint32_t> needed_by;  // by tenancy: this many tasks that have not finished
  PerLane<LaneState> lanes;
  std::vector<std::span<std::byte>> scratch;
};

Interpreter::Interpreter(const Program& program, const Plan& plan, Content content)
    : program_(program), plan_(plan), content_(content), tenancies_(find_tenancies(program, plan)) {
  make_arenas();
}

Interpreter::Interpreter(const Program& program, const Plan& plan, RunOp run_op)
    : program_(program),
      plan_(plan),
      content_(Content::kBytes),
      run_op_(std::move(run_op)),
      tenancies_(find_tenancies(program, plan)) {
  make_arenas();
}

void Interpreter::make_arenas() {
  PerTier<std::uint64_t> ends = program_.home_bytes();
  for (const Tenancy& tenancy : tenancies_.all)
    ends[index(tenancy.tier)] = std::max(ends[index(tenancy.tier)], tenancy.range.end);
  for (std::size_t tier = 0; tier < kTierCount; ++tier) {
    // a plan that is wrong may also read where it never writes
    const std::uint64_t end = std::max(ends[tier], plan_.span_bytes[tier]);
    Arena& arena = arenas_[tier];
    arena.size_bytes = held_bytes(end, content_);
    arena.memory.reset(static_cast<std::byte*>(
        ::operator new (arena.size_bytes + 1, std::align_val_t{kPageAlignment})));
    std::fill_n(arena.memory.get(), arena.size_bytes, kPoison);
  }
}

std::span<std::byte> Interpreter::bytes(Tier tier, std::uint64_t address,
                                        std::uint64_t size_bytes) {
  const Arena& arena = arenas_[index(tier)];
  return std::span(arena.memory.get(), arena.size_bytes)
      .subspan(held_bytes(address, content_), held_bytes(size_bytes, content_));
}

void Interpreter::poison(Tier tier, Range range) {
  std::ranges::fill(bytes(tier, range.begin, range.end - range.begin), kPoison);
}

void Interpreter::poison_all() {
  for (const Arena& arena : arenas_) std::fill_n(arena.memory.get(), arena.size_bytes, kPoison);
}

Homes Interpreter::run(const Homes& homes, std::uint64_t order_seed) {
  poison_all();
  const auto home_bytes = [&](ValueId value) {
    const Home* home = program_.home(value);
    return home == nullptr ? std::span<std::byte>()
                           : bytes(home->tier, home->address, home->size_bytes);
  };
  for (ValueId value = 0; value < homes.size(); ++value)
    std::ranges::copy(homes[value], home_bytes(value).begin());
  Run(*this, order_seed).go();
  Homes after(homes.size());
  for (ValueId value = 0; value < homes.size(); ++value) {
    const std::span<std::byte> held = home_bytes(value);
    after[value].assign(held.begin(), held.end());
  }
  return after;
}

void Interpreter::run(PerTier<std::span<std::byte>> homes, std::uint64_t order_seed) {
  poison_all();
  for (std::size_t tier = 0; tier < kTierCount; ++tier)
    std::ranges::copy(homes[tier], arenas_[tier].memory.get());
  Run(*this, order_seed).go();
  for (std::size_t tier = 0; tier < kTierCount; ++tier)
    std::copy_n(arenas_[tier].memory.get(), homes[tier].size(), homes[tier].begin());
}

}  // namespace ebbtide::plan_test
