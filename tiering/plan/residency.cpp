#include "tiering/plan/residency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace ebbtide::planning {
namespace {

bool allowed_in(const Value& value, Tier tier) {
  switch (value.reach) {
    case Reach::kDevice:
      return tier == Tier::kDevice;
    case Reach::kHost:
      return tier != Tier::kNvme;
    default:
      return true;
  }
}

}  // namespace

Residency::Residency(Graph& graph, Tier tier, const TierSteps& steps, std::uint64_t budget_bytes,
                     const ResidencyRates& rates, const PlanOptions& options)
    : graph_(graph),
      program_(graph.program()),
      tier_(tier),
      steps_(steps),
      rates_(rates),
      options_(options),
      home_bytes_(program_.home_bytes()[index(tier)]),
      map_(home_bytes_, budget_bytes / alignment(tier) * alignment(tier)),
      states_(program_.value_count()),
      next_of_use_(steps.uses.size()),
      addresses_(steps.uses.size(), kNoAddress),
      limited_bytes_(options.resident_limit_bytes.size(), 0) {}

void Residency::run() {
  EBBTIDE_CHECK(steps_.size() < kNever, fmt::format("{} steps", steps_.size()));
  place_homes();
  link_uses();
  for (StepId step = 0; step < steps_.size(); ++step) {
    if (steps_.below[step])
      act_below(step);
    else
      act(step);
  }
  finish();
}

Tier Residency::home_tier(ValueId value) const {
  const Home* home = program_.home(value);
  return home == nullptr ? Tier::kDevice : home->tier;
}

bool Residency::wanted_below_at_end(ValueId value) const {
  return program_.home(value) != nullptr && index(home_tier(value)) > index(tier_);
}

void Residency::place_homes() {
  for (ValueId value = 0; value < program_.value_count(); ++value) {
    const Home* home = program_.home(value);
    if (home == nullptr) continue;
    State& state = states_[value];
    state.valid_below = index(home->tier) > index(tier_);
    if (home->tier != tier_) continue;
    state.block = map_.add_fixed(home->address, extent(home->size_bytes, tier_), value);
    state.valid = state.has_fixed_block = true;
  }
}

// Backwards over the steps: what follows each use.
void Residency::link_uses() {
  std::vector<Next> next(program_.value_count(), Next{kNever, false, false});
  for (ValueId value = 0; value < program_.value_count(); ++value)
    next[value].wanted_below = wanted_below_at_end(value);
  for (auto step = static_cast<StepId>(steps_.size()); step-- > 0;) link_uses_of(step, next);
  for (ValueId value = 0; value < program_.value_count(); ++value)
    states_[value].next = next[value];
}

void Residency::link_uses_of(StepId step, std::vector<Next>& next) {
  for (std::uint32_t use = steps_.use_begin[step]; use < steps_.use_begin[step + 1]; ++use) {
    const Use& by = steps_.uses[use];
    Next& following = next[by.value];
    if (steps_.below[step]) {
      if (by.access() != Access::kRead) following = {kNever, false, false};
      if (by.reads()) following.wanted_below = true;
    } else {
      next_of_use_[use] = following;
      following.step = step & kNever;
      following.discards = by.access() == Access::kWrite;
      if (by.writes()) following.wanted_below = false;
    }
  }
}

void Residency::act(StepId step) {
  const std::uint32_t begin = steps_.use_begin[step];
  const std::uint32_t end = steps_.use_begin[step + 1];
  for (std::uint32_t use = begin; use < end; ++use) {
    const BlockId block = states_[steps_.uses[use].value].block;
    if (block != kNone) map_.block(block).pinned_at = step;
  }
  preparing_ = step;
  place_operands(step);
  preparing_ = kNever;
  // Only now: making room for a later operand may have moved an earlier one.
  for (std::uint32_t use = begin; use < end; ++use) touch(step, use);
  for (std::uint32_t use = begin; use < end; ++use) after_use(step, use);
}

// What is read comes first, so that only what is written can be there without content.
void Residency::place_operands(StepId step) {
  const std::uint32_t begin = steps_.use_begin[step];
  const std::uint32_t end = steps_.use_begin[step + 1];
  const auto place_all = [&] {
    for (std::uint32_t use = begin; use < end; ++use)
      if (steps_.uses[use].reads()) ensure(step, use);
    for (std::uint32_t use = begin; use < end; ++use)
      if (!steps_.uses[use].reads()) ensure(step, use);
  };
  if (tier_ == Tier::kDevice) return place_all();
  try {
    place_all();
  } catch (const OutOfRoom&) {
    // Nothing moves inside this tier: start again from an arena without anything that may leave.
    evict_all();
    place_all();
  }
}

void Residency::evict_all() {
  const std::vector<BlockId> blocks(map_.order().begin(), map_.order().end());
  for (const BlockId id : blocks) {
    const Block& block = map_.block(id);
    if (!block.free() && !stays_in_tier(program_.value(block.value))) evict(id);
  }
}

// The step's operand has a block, and where it is read, its content.
void Residency::ensure(StepId step, std::uint32_t use) {
  const Use& by = steps_.uses[use];
  State& state = states_[by.value];
  if (state.block != kNone && (state.valid || !by.reads())) return;
  if (by.reads()) {
    bring_up(step, by.value);
  } else {
    allocate(step, by.value);
  }
}

void Residency::touch(StepId step, std::uint32_t use) {
  const Use& by = steps_.uses[use];
  const NodeId node = steps_.node[step];
  State& state = states_[by.value];
  Block& block = map_.block(state.block);
  Touches& touches = map_.touches(state.block);
  block.last_step = step;
  block.last_use_s = steps_.start_s[step];
  block.was_used = block.has_content = true;
  block.available_s = std::max(block.available_s, steps_.end_s[step]);
  addresses_[use] = block.begin;
  if (!graph_.is_op(node)) graph_.transfer(node).lower_address = block.begin;
  if (by.writes()) {
    wait_for(touches, node);
    touches = {node, kNone, {}};
    state.valid = true;
    state.valid_below = false;
  } else {
    if (touches.writer != kNone) graph_.add_edge(touches.writer, node);
    add_reader(touches, node);
  }
}

void Residency::after_use(StepId step, std::uint32_t use) {
  const Use& by = steps_.uses[use];
  State& state = states_[by.value];
  state.next = next_of_use_[use];
  const bool used_again = state.next.step != kNever && !state.next.discards;
  const bool leaves = !used_again || (leaves_at_once(by) && can_hide_leaving(step, state));
  const bool wanted_below = state.next.wanted_below || (leaves && used_again);
  if (state.has_fixed_block) return;
  if (wanted_below && !state.valid_below && (by.writes() || leaves)) send_down(step + 1, by.value);
  if (leaves) return drop(by.value);
  Block& block = map_.block(state.block);
  block.next_use_s = steps_.start_s[state.next.step];
  block.lose_s = static_cast<float>(seconds_to_lose(state, block.size));
}

double Residency::seconds_to_lose(const State& state, std::uint64_t bytes) const {
  const double up_s = static_cast<double>(bytes) / rates_.up.bytes_per_s;
  return state.valid_below ? up_s : up_s + static_cast<double>(bytes) / rates_.down.bytes_per_s;
}

// Whether a tenant that is asked to leave can be back in time. Its store queues behind those before
// it; its load has to end before the loads of those that left before it must begin, since what is
// saved last is needed first. Where it cannot, it stays, and leaves only if its room is needed.
bool Residency::can_hide_leaving(StepId step, State& state) {
  if (tier_ != Tier::kDevice) return true;
  const auto bytes = static_cast<double>(map_.block(state.block).size);
  const ValueId value = map_.block(state.block).value;
  const Rate& down = rate_down(value);
  const Rate& up = goes_far(value) ? rates_.far_up : rates_.up;
  const double now_s = steps_.start_s[step + 1 < steps_.size() ? step + 1 : step];
  if (loads_begin_s_ <= now_s) loads_begin_s_ = std::numeric_limits<double>::infinity();
  const double stored_s =
      state.valid_below ? now_s : std::max(down_free_s_, now_s) + down.seconds(bytes);
  const double begin_s =
      std::min(loads_begin_s_, steps_.start_s[state.next.step]) - bytes / up.bytes_per_s;
  if (begin_s - up.latency_s < stored_s) return false;
  loads_begin_s_ = begin_s;
  const auto from = std::upper_bound(steps_.start_s.begin(), steps_.start_s.end(), begin_s);
  state.load_from = static_cast<StepId>(from - steps_.start_s.begin()) - 1;
  return true;
}

// As far ahead as every load may go, or as this one has to, to leave room for those after it.
StepId Residency::issue_step(StepId step, ValueId value) const {
  if (step == steps_.size()) return 0;
  if (options_.prefetch_chunk_steps) return steps_.pin_from[step];
  return std::min(steps_.pin_from[step], states_[value].load_from);
}

bool Residency::goes_far(ValueId value) const {
  return tier_ == Tier::kDevice && program_.value(value).reach == Reach::kNvme;
}

const Rate& Residency::rate_down(ValueId value) const {
  return goes_far(value) ? rates_.far_down : rates_.down;
}

bool Residency::leaves_at_once(const Use& use) const {
  const Value& value = program_.value(use.value);
  if (stays_in_tier(value)) return false;
  return tier_ == Tier::kDevice ? use.leaves : value.reach == Reach::kNvme;
}

bool Residency::stays_in_tier(const Value& value) const {
  return tier_ == Tier::kNvme || !allowed_in(value, static_cast<Tier>(index(tier_) + 1));
}

// A step in the tier below reads or writes values that may have copies here.
void Residency::act_below(StepId step) {
  for (const Use& use : steps_.uses_of(step)) {
    State& state = states_[use.value];
    if (use.reads() && !state.valid_below) {
      EBBTIDE_CHECK(state.valid, program_.describe(use.value) + " is read before it is written");
      send_down(std::max(map_.block(state.block).unused_from(), steps_.pin_from[step]), use.value);
    }
    if (use.writes()) {
      state.valid = false;
      state.valid_below = true;
      if (state.block != kNone && !state.has_fixed_block) drop(use.value);
    }
    state.below_ready = std::max(state.below_ready, step + 1);
  }
}

void Residency::finish() {
  const auto end = static_cast<StepId>(steps_.size());
  for (ValueId value = 0; value < program_.value_count(); ++value) {
    const State& state = states_[value];
    if (state.has_fixed_block && !state.valid) bring_up(end, value);
  }
}

void Residency::bring_up(StepId step, ValueId value) {
  State& state = states_[value];
  EBBTIDE_CHECK(state.valid_below, program_.describe(value) + " is read before it is written");
  if (state.block == kNone) allocate(step, value);
  Block& block = map_.block(state.block);
  Transfer transfer;
  transfer.lane = lane_up_to(tier_);
  transfer.value = value;
  transfer.needed_by = step;
  transfer.upper_address = block.begin;
  place_at(std::max({issue_step(step, value), state.below_ready, block.unused_from()}), transfer);
  state.load_from = kNever;
  if (step < steps_.size()) transfer.not_before_op = steps_.issue_op[step];
  const NodeId node = graph_.add(transfer);
  wait_for(map_.touches(state.block), node);
  map_.touches(state.block) = {node, kNone, {}};
  block.was_used = block.has_content = true;
  state.valid = true;
}

// What is decided for a step comes before it, in the order of the decisions: room that was made for
// one operand may come from what had to be done for another.
void Residency::place_at(StepId position, Transfer& transfer) const {
  transfer.position = std::min(position, preparing_);
  transfer.prepares = transfer.position == preparing_;
}

void Residency::send_down(StepId position, ValueId value) {
  State& state = states_[value];
  Block& block = map_.block(state.block);
  Transfer transfer;
  transfer.lane = lane_down_from(tier_);
  transfer.value = value;
  transfer.upper_address = block.begin;
  place_at(position, transfer);
  position = transfer.position;
  const NodeId node = graph_.add(transfer);
  Touches& touches = map_.touches(state.block);
  if (touches.writer != kNone) graph_.add_edge(touches.writer, node);
  add_reader(touches, node);
  block.was_used = true;
  const double ready_s = position < steps_.size() ? steps_.start_s[position] : down_free_s_;
  const Rate& down = rate_down(value);
  down_free_s_ =
      std::max(down_free_s_, ready_s) + static_cast<double>(block.size) / down.bytes_per_s;
  block.available_s = down_free_s_ + down.latency_s;
  state.valid_below = true;
  state.below_ready = position;
}

void Residency::drop(ValueId value) {
  State& state = states_[value];
  const auto limit = program_.kind(program_.value(value).kind).resident_limit;
  if (tier_ == Tier::kDevice && limit && *limit < limited_bytes_.size())
    limited_bytes_[*limit] -= map_.block(state.block).size;
  map_.release(state.block);
  state.block = kNone;
  state.valid = false;
}

void Residency::evict(BlockId id) {
  const ValueId value = map_.block(id).value;
  if (states_[value].valid && !states_[value].valid_below)
    send_down(map_.block(id).last_step + 1, value);
  drop(value);
}

void Residency::wait_for(const Touches& touches, NodeId node) {
  if (touches.writer != kNone) graph_.add_edge(touches.writer, node);
  if (touches.last_op != kNone) graph_.add_edge(touches.last_op, node);
  for (const NodeId reader : touches.readers) graph_.add_edge(reader, node);
}

void Residency::add_reader(Touches& touches, NodeId node) {
  if (graph_.is_op(node) && graph_.lane(node) != Lane::kComm)
    touches.last_op = node;
  else
    touches.readers.push_back(node);
}

}  // namespace ebbtide::planning
