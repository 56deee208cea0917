// Where a missing value goes, and who leaves for it.
#include <algorithm>
#include <functional>
#include <limits>

#include "tiering/plan/residency.hpp"

namespace ebbtide::planning {
namespace {

// A load into the place of a tenant that was used just now has to wait for that use; this is how
// many times dearer than a plain eviction such a stall is counted. Chosen on the demo's program:
// from 8 to 64 the simulated step changes by less than 1 %, at 1 prefetch is lost.
constexpr double kBusyPenalty = 16;
// Of free blocks the one that is available first is best, and any is better than an eviction.
constexpr double kFreeButLate = 1e-9;
// Seconds; keeps the cost finite between steps at one instant.
constexpr double kShortestGap = 1e-9;
// Block::lose_s has the precision of a float.
constexpr double kRounding = 1e-6;

}  // namespace

void Residency::allocate(StepId step, ValueId value) {
  keep_limit(step, value);
  const std::uint64_t size = extent(program_.value(value).size_bytes, tier_);
  State& state = states_[value];
  const Moment now = moment(step, issue_step(step, value));
  const BlockId unused = map_.find_free(size, now.pin_from, now.issue_s);
  const Window window =
      unused != kNone ? map_.window_of(unused) : make_room(step, now, value, size);
  for (std::size_t i = window.first; i <= window.last; ++i)
    if (!map_.block(map_.order()[i]).free()) evict(map_.order()[i]);
  state.block = map_.place(window, value, size);
  map_.block(state.block).pinned_at = step;
  map_.block(state.block).stays = stays_in_tier(program_.value(value));
}

// Either the tenants of one window leave, or those leave that are cheapest to lose wherever they
// are, and others are slid together so that the free bytes make a hole.
Window Residency::make_room(StepId step, const Moment& now, ValueId value, std::uint64_t size) {
  const std::optional<Window> window = cheapest_window(step, now, size);
  const bool moves =
      tier_ == Tier::kDevice &&
      (window ? moving_pays(step, now, value, size, *window) : choose_leaving(step, now, size));
  if (!moves && !window) throw OutOfRoom{tier_, step, value};
  if (!moves) return *window;
  for (const BlockId id : leaving_) evict(id);
  return slide_together(step, size);
}

// Counts the seconds of the link that each way costs and those for which the step has to wait.
bool Residency::moving_pays(StepId step, const Moment& now, ValueId value, std::uint64_t size,
                            const Window& window) {
  const State& state = states_[value];
  const bool is_loaded = state.valid_below && !state.next.discards;
  const double load_s = is_loaded ? rates_.up.seconds(static_cast<double>(size)) : 0;
  Room by_window{.ready_s = now.issue_s};
  for (std::size_t i = window.first; i <= window.last; ++i)
    add_block(map_.block(map_.order()[i]), by_window);
  const double window_s =
      by_window.lost_s + std::max(0.0, by_window.ready_s + load_s - now.seconds);
  // No choice loses less than what is missing, and what comes after a move is not loaded ahead.
  const std::uint64_t missing = size - std::min(size, map_.free_bytes());
  const double least_s = static_cast<double>(missing) / rates_.up.bytes_per_s + load_s;
  if (window_s <= least_s * (1 + kRounding) || !choose_leaving(step, now, size)) return false;
  double lost_s = 0;
  for (const BlockId id : leaving_) lost_s += map_.block(id).lose_s;
  if (lost_s + load_s >= window_s) return false;
  return lost_s + ready_by_moving(now, size) + load_s - now.seconds < window_s;
}

// When the room is there if those in leaving_ leave and others are slid together.
double Residency::ready_by_moving(const Moment& now, std::uint64_t size) {
  for (const BlockId id : leaving_) map_.block(id).leaving = true;
  const Window window = map_.easiest_to_slide(size);
  Room room{.ready_s = now.seconds};
  std::uint64_t moved_bytes = 0;
  for (std::size_t i = window.first; i <= window.last; ++i) {
    const Block& block = map_.block(map_.order()[i]);
    if (block.free() || block.leaving)
      add_block(block, room);
    else if (block.has_content)
      moved_bytes += block.size;
  }
  for (const BlockId id : leaving_) map_.block(id).leaving = false;
  return room.ready_s + rates_.move_s_per_byte * static_cast<double>(moved_bytes);
}

void Residency::add_block(const Block& block, Room& room) const {
  double ready_s = steps_.start_s[std::min<std::size_t>(block.unused_from(), steps_.size() - 1)];
  if (block.free()) {
    ready_s = std::max(ready_s, block.available_s);
  } else {
    room.lost_s += block.lose_s;
    const State& state = states_[block.value];
    if (state.valid && !state.valid_below) {
      const Rate& down = rate_down(block.value);
      room.stores_s += static_cast<double>(block.size) / down.bytes_per_s;
      ready_s = std::max(ready_s, down_free_s_) + room.stores_s + down.latency_s;
    }
  }
  room.ready_s = std::max(room.ready_s, ready_s);
}

// Fills leaving_ with the tenants that are cheapest to lose until with them there are `size` free
// bytes; false if there are too few.
bool Residency::choose_leaving(StepId step, const Moment& now, std::uint64_t size) {
  leaving_.clear();
  std::uint64_t free_bytes = map_.free_bytes();
  if (free_bytes >= size) return true;
  by_cost_.clear();
  for (const BlockId id : map_.order()) {
    const Block& block = map_.block(id);
    if (block.free() || !may_evict(step, block)) continue;
    by_cost_.push_back({cost_of_losing(now, block) / static_cast<double>(block.size), id});
  }
  std::make_heap(by_cost_.begin(), by_cost_.end(), std::greater<>());
  for (; free_bytes < size && !by_cost_.empty(); by_cost_.pop_back()) {
    std::pop_heap(by_cost_.begin(), by_cost_.end(), std::greater<>());
    leaving_.push_back(by_cost_.back().second);
    free_bytes += map_.block(leaving_.back()).size;
  }
  if (free_bytes < size) return false;
  // The last ones may be so large that earlier ones need not leave.
  const auto needless = [&](BlockId id) {
    const std::uint64_t bytes = map_.block(id).size;
    if (free_bytes - bytes < size) return false;
    free_bytes -= bytes;
    return true;
  };
  leaving_.erase(std::remove_if(leaving_.begin(), leaving_.end(), needless), leaving_.end());
  return true;
}

// Kinds with a common limit make room among themselves first.
void Residency::keep_limit(StepId step, ValueId value) {
  const auto limit = program_.kind(program_.value(value).kind).resident_limit;
  if (tier_ != Tier::kDevice || !limit || *limit >= limited_bytes_.size()) return;
  std::uint64_t& held = limited_bytes_[*limit];
  const std::uint64_t size = extent(program_.value(value).size_bytes, tier_);
  while (held + size > options_.resident_limit_bytes[*limit]) {
    const BlockId cheapest = cheapest_of_limit(step, value, *limit);
    // Only values that never leave are left: make_plan() has seen that one op's own fit.
    if (cheapest == kNone) throw OutOfRoom{tier_, step, value};
    evict(cheapest);
  }
  held += size;
}

bool Residency::may_evict(StepId step, const Block& block) const {
  return block.pinned_at != step && !block.stays;
}

Residency::Moment Residency::moment(StepId step, StepId issue) const {
  constexpr double kAnyTime = std::numeric_limits<double>::infinity();
  if (step == steps_.size()) return {0.0, kAnyTime, kNever, 0.0};
  return {steps_.start_s[step], steps_.start_s[issue], issue, 1 / rates_.prefetch_seconds};
}

inline double Residency::cost_of_losing(const Moment& now, const Block& block) const {
  double busy = 0;
  if (block.last_step >= now.pin_from && block.was_used)
    busy = std::max(0.1, 1 - (now.seconds - block.last_use_s) * now.per_prefetch_second);
  if (block.free()) return kFreeButLate * (busy + std::max(0.0, block.available_s - now.issue_s));
  const double until_s = std::max(block.next_use_s - now.seconds, kShortestGap);
  return block.lose_s / until_s * (1 + kBusyPenalty * busy);
}

std::optional<Window> Residency::cheapest_window(StepId step, const Moment& now,
                                                 std::uint64_t size) {
  const auto order = map_.order();
  Window best;
  double best_cost = std::numeric_limits<double>::infinity();
  std::size_t first = 0;
  std::uint64_t bytes = 0;
  double cost = 0;
  costs_.resize(std::max(costs_.size(), order.size()));
  for (std::size_t last = 0; last < order.size(); ++last) {
    const Block& block = map_.block(order[last]);
    if (!block.free() && !may_evict(step, block)) {
      first = last + 1;
      bytes = 0;
      cost = 0;
      continue;
    }
    costs_[last] = cost_of_losing(now, block);
    bytes += block.size;
    cost += costs_[last];
    if (bytes < size) continue;
    for (std::uint64_t head; bytes - (head = map_.block(order[first]).size) >= size; ++first) {
      bytes -= head;
      cost -= costs_[first];
    }
    // Of equals, the one that leaves the smallest rest.
    const double total = cost + 1e-12 * static_cast<double>(bytes - size);
    if (total >= best_cost) continue;
    best = {first, last, bytes};
    best_cost = total;
  }
  if (best.bytes == 0) return std::nullopt;
  return best;
}

BlockId Residency::cheapest_of_limit(StepId step, ValueId value, std::uint8_t limit) const {
  const Moment now = moment(step, issue_step(step, value));
  BlockId cheapest = kNone;
  double lowest = 0;
  for (const BlockId id : map_.order()) {
    const Block& block = map_.block(id);
    if (block.free() || !may_evict(step, block)) continue;
    if (program_.kind(program_.value(block.value).kind).resident_limit != limit) continue;
    const double cost = cost_of_losing(now, block) / static_cast<double>(block.size);
    if (cheapest != kNone && cost >= lowest) continue;
    cheapest = id;
    lowest = cost;
  }
  return cheapest;
}

// Requires `size` free bytes.
Window Residency::slide_together(StepId step, std::uint64_t size) {
  const Window window = map_.easiest_to_slide(size);
  // Where only places without content move, nothing is copied.
  if (!map_.has_content_to_slide(window))
    return map_.slide(window, size, kNone, step, graph_.moves());
  Transfer move;
  move.lane = Lane::kCompute;
  move.position = step;
  move.first_move = static_cast<std::uint32_t>(graph_.moves().size());
  const NodeId mover = graph_.add(move);
  wait_for(map_.touches_of_slide(window), mover);
  const Window rest = map_.slide(window, size, mover, step, graph_.moves());
  graph_.transfer(mover).moves =
      static_cast<std::uint32_t>(graph_.moves().size()) - move.first_move;
  return rest;
}

}  // namespace ebbtide::planning
