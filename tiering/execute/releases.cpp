#include "tiering/execute/releases.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "tiering/execute/plan_order.hpp"

namespace ebbtide::execute {
namespace {

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool operator==(const Range&) const = default;
};

struct Tenant {
  Range range;
  ValueId value = 0;
  std::vector<TaskAt> touchers;  // in replay order, each once
};

// The parts of `whole` that none of `taken` covers.
std::vector<Range> without(Range whole, std::vector<Range> taken) {
  std::ranges::sort(taken, {}, &Range::begin);
  std::vector<Range> left;
  for (const Range& hole : taken) {
    if (hole.end <= whole.begin || hole.begin >= whole.end) continue;
    if (hole.begin > whole.begin) left.push_back({whole.begin, hole.begin});
    whole.begin = std::min(whole.end, hole.end);
  }
  if (whole.begin < whole.end) left.push_back(whole);
  return left;
}

class Replay {
 public:
  Replay(const Program& program, const Plan& plan) : program_(program), plan_(plan), order_(plan) {
    homes_end_ = program.home_bytes();
    for (ValueId id = 0; id < program.value_count(); ++id) {
      const Home* home = program.home(id);
      if (home == nullptr) continue;
      std::uint64_t& end = homes_end_[index(home->tier)];
      end = std::max(end, home->address + extent(home->size_bytes, home->tier));
    }
  }

  Releases run() {
    for (const TaskAt at : order_.tasks()) visit(at);
    for (const Tier tier : {Tier::kDevice, Tier::kHost}) {
      for (const auto& [begin, tenant] : tenants_[index(tier)]) leave_at_end(tier, tenant);
    }
    for (std::vector<Fill>& fills : releases_.fills)
      std::ranges::stable_sort(fills, {},
                               [](const Fill& f) { return std::tuple(f.task, f.moment); });
    return std::move(releases_);
  }

 private:
  using Tenants = std::map<std::uint64_t, Tenant>;  // by begin; never overlapping

  Range range(Tier tier, std::uint64_t address, ValueId value) const {
    return {address, address + extent(program_.value(value).size_bytes, tier)};
  }
  bool is_followed(Tier tier, std::uint64_t address) const {
    return tier != Tier::kNvme && address >= homes_end_[index(tier)];
  }

  void visit(TaskAt at);
  void visit_op(TaskAt at, OpId id);
  void visit_segments(TaskAt at, std::span<const Segment> segments);
  void touch(TaskAt at, Tier tier, std::uint64_t address, ValueId value);
  void claim(TaskAt at, Tier tier, std::uint64_t address, ValueId value);
  // The tenant makes room for `taken`, which `at` writes.
  void evict(TaskAt at, Tier tier, Tenants::iterator tenant, Range taken);
  void leave_at_end(Tier tier, const Tenant& tenant);
  // The toucher that all others have always finished before, if there is one.
  std::optional<TaskAt> last_toucher(const Tenant& tenant) const;
  void fill(TaskAt at, Moment moment, Tier tier, Range range) {
    releases_.fills[index(at.lane)].push_back(
        {at.index, moment, tier, range.begin, range.end - range.begin});
  }

  const Program& program_;
  const Plan& plan_;
  const PlanOrder order_;
  PerTier<std::uint64_t> homes_end_{};
  PerTier<Tenants> tenants_;
  std::vector<Range> written_;  // in the device arena, by the move at hand
  Releases releases_;
};

void Replay::visit(TaskAt at) {
  const Task& task = plan_.task(at);
  if (task.kind() == TaskKind::kOp) {
    visit_op(at, task.first);
  } else {
    visit_segments(at, plan_.segments_of(task));
  }
}

void Replay::visit_op(TaskAt at, OpId id) {
  const Tier tier = program_.operand_tier(id);
  const std::span<const Use> uses = program_.uses(id);
  for (std::uint32_t i = 0; i < uses.size(); ++i) {
    const std::uint64_t address = plan_.operand_address(program_.op(id).uses_begin + i);
    if (uses[i].access() == Access::kWrite) {
      claim(at, tier, address, uses[i].value);
    } else {
      touch(at, tier, address, uses[i].value);
    }
  }
}

void Replay::visit_segments(TaskAt at, std::span<const Segment> segments) {
  const Route ends = route(at.lane);
  written_.clear();
  if (ends.from == ends.to) {
    for (const Segment& segment : segments)
      written_.push_back(range(ends.to, segment.to, segment.value));
  }
  for (const Segment& segment : segments) {
    touch(at, ends.from, segment.from, segment.value);
    claim(at, ends.to, segment.to, segment.value);
  }
}

void Replay::touch(TaskAt at, Tier tier, std::uint64_t address, ValueId value) {
  if (!is_followed(tier, address)) return;
  const auto found = tenants_[index(tier)].find(address);
  if (found == tenants_[index(tier)].end() || found->second.value != value) return;
  std::vector<TaskAt>& touchers = found->second.touchers;
  if (touchers.empty() || touchers.back() != at) touchers.push_back(at);
}

void Replay::claim(TaskAt at, Tier tier, std::uint64_t address, ValueId value) {
  if (!is_followed(tier, address)) return;
  Tenants& tenants = tenants_[index(tier)];
  const Range taken = range(tier, address, value);
  const auto mine = tenants.find(address);
  if (mine != tenants.end() && mine->second.value == value && mine->second.range == taken)
    return touch(at, tier, address, value);
  auto next = tenants.lower_bound(taken.begin);
  if (next != tenants.begin() && std::prev(next)->second.range.end > taken.begin) --next;
  while (next != tenants.end() && next->second.range.begin < taken.end) {
    const auto old = next++;
    evict(at, tier, old, taken);
  }
  tenants[taken.begin] = {taken, value, {at}};
}

void Replay::evict(TaskAt at, Tier tier, Tenants::iterator tenant, Range taken) {
  const Tenant old = std::move(tenant->second);
  tenants_[index(tier)].erase(tenant);
  if (const std::optional<TaskAt> last = last_toucher(old)) {
    if (*last != at) return fill(*last, Moment::kAfter, tier, old.range);
    // a move onto its own source, or onto what it has moved away before
    for (const Range& left : without(old.range, written_)) fill(at, Moment::kAfter, tier, left);
    return;
  }
  fill(at, Moment::kBefore, tier,
       {std::max(old.range.begin, taken.begin), std::min(old.range.end, taken.end)});
  for (const Range& left : without(old.range, {taken}))
    tenants_[index(tier)][left.begin] = {left, old.value, old.touchers};
}

std::optional<TaskAt> Replay::last_toucher(const Tenant& tenant) const {
  const auto ends_all = [&](TaskAt last) {
    return std::ranges::all_of(tenant.touchers, [&](TaskAt other) {
      return other == last || order_.is_before(other, last);
    });
  };
  // touchers are in an order that the waits allow, so only the latest can be after all others
  if (ends_all(tenant.touchers.back())) return tenant.touchers.back();
  return std::nullopt;
}

void Replay::leave_at_end(Tier tier, const Tenant& tenant) {
  if (const std::optional<TaskAt> last = last_toucher(tenant))
    return fill(*last, Moment::kAfter, tier, tenant.range);
  const auto [begin, end] = tenant.range;
  releases_.at_end.push_back({0, Moment::kAfter, tier, begin, end - begin});
}

}  // namespace

std::span<const Fill> Releases::of(Lane lane, std::uint32_t task, Moment moment) const {
  const std::vector<Fill>& all = fills[index(lane)];
  const auto key = [](const Fill& f) { return std::tuple(f.task, f.moment); };
  const auto found = std::ranges::equal_range(all, std::tuple(task, moment), {}, key);
  return {found.begin(), found.end()};
}

Releases find_releases(const Program& program, const Plan& plan) {
  return Replay(program, plan).run();
}

}  // namespace ebbtide::execute
