#include "src/report/occupancy.hpp"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>

#include "src/report/task_order.hpp"

namespace ebbtide::report {
namespace {

struct Stay {
  ValueId value = 0;
  double end_s = 0;
};

// The stays of values at addresses of one tier.
class TierStays {
 public:
  TierStays(const Program& program, Tier tier) : program_(program), tier_(tier) {}

  void begin(std::uint64_t address, ValueId value, const Interval& when) {
    if (address < program_.home_bytes()[index(tier_)]) return;
    const auto [at, fresh] = open_.try_emplace(address, Stay{value, when.end_s});
    if (!fresh) {
      close(at->second);
      at->second = {value, when.end_s};
    }
    changes_.push_back({when.start_s, size(value), program_.value(value).kind});
  }
  void touch(std::uint64_t address, const Interval& when) {
    const auto at = open_.find(address);
    if (at != open_.end()) at->second.end_s = std::max(at->second.end_s, when.end_s);
  }
  // A tenant that is moved is one stay: its new place may overlap the old one.
  void move(std::uint64_t from, std::uint64_t to, const Interval& when) {
    const auto at = open_.find(from);
    if (at == open_.end()) return;
    const Stay stay{at->second.value, std::max(at->second.end_s, when.end_s)};
    open_.erase(at);
    const auto [place, fresh] = open_.try_emplace(to, stay);
    if (fresh) return;
    close(place->second);
    place->second = stay;
  }
  std::vector<HeldChange> take_changes() {
    for (const auto& [address, stay] : open_) close(stay);
    std::sort(changes_.begin(), changes_.end(), [](const HeldChange& a, const HeldChange& b) {
      return a.at_s != b.at_s ? a.at_s < b.at_s : a.bytes < b.bytes;
    });
    return std::move(changes_);
  }

 private:
  std::int64_t size(ValueId value) const {
    return static_cast<std::int64_t>(extent(program_.value(value).size_bytes, tier_));
  }
  void close(const Stay& stay) {
    changes_.push_back({stay.end_s, -size(stay.value), program_.value(stay.value).kind});
  }

  const Program& program_;
  Tier tier_;
  std::unordered_map<std::uint64_t, Stay> open_;
  std::vector<HeldChange> changes_;
};

class Walk {
 public:
  Walk(const Program& program, const Plan& plan)
      : program_(program),
        plan_(plan),
        stays_{TierStays(program, Tier::kDevice), TierStays(program, Tier::kHost),
               TierStays(program, Tier::kNvme)} {}

  void visit(Lane lane, const Task& task, const Interval& when) {
    if (task.kind() == TaskKind::kOp) return visit_op(task.first, when);
    if (task.kind() == TaskKind::kMove) return visit_move(task, when);
    const Route tiers = route(lane);
    for (const Segment& segment : plan_.segments_of(task)) {
      stays_[index(tiers.from)].touch(segment.from, when);
      stays_[index(tiers.to)].begin(segment.to, segment.value, when);
    }
  }
  std::vector<HeldChange> take_changes(Tier tier) { return stays_[index(tier)].take_changes(); }

 private:
  void visit_move(const Task& task, const Interval& when) {
    for (const Segment& segment : plan_.segments_of(task))
      stays_[index(Tier::kDevice)].move(segment.from, segment.to, when);
  }
  void visit_op(OpId op, const Interval& when) {
    const Tier tier = program_.operand_tier(op);
    std::uint32_t use = program_.op(op).uses_begin;
    for (const Use& operand : program_.uses(op)) {
      const std::uint64_t address = plan_.operand_address(use++);
      if (operand.access() == Access::kWrite)
        stays_[index(tier)].begin(address, operand.value, when);
      else
        stays_[index(tier)].touch(address, when);
    }
  }

  const Program& program_;
  const Plan& plan_;
  PerTier<TierStays> stays_;
};

// Number of changes up to and with the one after which most bytes are held.
std::size_t fullest_change(std::span<const HeldChange> changes) {
  std::int64_t held = 0;
  std::int64_t most = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    held += changes[i].bytes;
    if (held <= most) continue;
    most = held;
    count = i + 1;
  }
  return count;
}

BytesByKind bytes_after(std::span<const HeldChange> changes, std::size_t kinds) {
  BytesByKind bytes(kinds, 0);
  for (const HeldChange& change : changes)
    bytes[change.kind] += static_cast<std::uint64_t>(change.bytes);  // wraps back
  return bytes;
}

}  // namespace

PerTier<std::vector<HeldChange>> held_changes(const Program& program, const Plan& plan,
                                              const Timeline& timeline) {
  Walk walk(program, plan);
  for (const TaskAt& task : by_start(plan, timeline))
    walk.visit(task.lane, plan.task(task), timeline.tasks[index(task.lane)][task.index]);
  return {walk.take_changes(Tier::kDevice), walk.take_changes(Tier::kHost),
          walk.take_changes(Tier::kNvme)};
}

PerTier<BytesByKind> fullest_moment(const Program& program, const Plan& plan,
                                    const Timeline& timeline) {
  const PerTier<std::vector<HeldChange>> changes = held_changes(program, plan, timeline);
  PerTier<BytesByKind> bytes;
  for (std::size_t tier = 0; tier < kTierCount; ++tier)
    bytes[tier] = bytes_after(std::span(changes[tier]).first(fullest_change(changes[tier])),
                              program.kind_count());
  return bytes;
}

}  // namespace ebbtide::report
