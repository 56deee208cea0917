#include "tests/plan/tenancies.hpp"

#include <algorithm>
#include <map>

#include "ebbtide/error.hpp"

namespace ebbtide::plan_test {
namespace {

// The parts of `whole` that none of `taken` covers.
std::vector<Range> without(Range whole, std::vector<Range> taken) {
  std::ranges::sort(taken, {}, &Range::begin);
  std::vector<Range> left;
  for (const Range hole : taken) {
    if (hole.end <= whole.begin || hole.begin >= whole.end) continue;
    if (hole.begin > whole.begin) left.push_back({whole.begin, hole.begin});
    whole.begin = std::min(whole.end, hole.end);
  }
  if (whole.begin < whole.end) left.push_back(whole);
  return left;
}

class Replay {
 public:
  Replay(const Program& program, const Plan& plan) : program_(program), plan_(plan) {
    for (std::size_t lane = 0; lane < kLaneCount; ++lane)
      found_.of[lane].resize(plan.tasks[lane].size());
    for (ValueId value = 0; value < program.value_count(); ++value)
      if (const Home* home = program.home(value)) begin(home->tier, home->address, value);
  }

  Tenancies run() {
    PerLane<std::uint32_t> done{};
    while (step(done)) {
    }
    for (std::size_t lane = 0; lane < kLaneCount; ++lane)
      EBBTIDE_CHECK(done[lane] == plan_.tasks[lane].size(), "no task can go on");
    for (std::size_t tier = 0; tier < kTierCount; ++tier)
      for (const auto& [address, tenant] : tenants_[tier])
        if (!is_home(static_cast<Tier>(tier), address, tenant.value))
          found_.all[tenant.id].freed = {found_.all[tenant.id].range};
    return std::move(found_);
  }

 private:
  struct Tenant {
    ValueId value = 0;
    std::uint32_t id = 0;  // into found_.all
  };

  // Does what can be done of each lane; whether anything could.
  bool step(PerLane<std::uint32_t>& done) {
    bool any = false;
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      for (; done[lane] < plan_.tasks[lane].size(); ++done[lane], any = true) {
        const Task& task = plan_.tasks[lane][done[lane]];
        const bool can = std::ranges::all_of(
            plan_.waits_of(task), [&](Wait wait) { return done[wait.lane] >= wait.count; });
        if (!can) break;
        visit(static_cast<Lane>(lane), task, found_.of[lane][done[lane]]);
      }
    }
    return any;
  }

  void visit(Lane lane, const Task& task, std::vector<std::uint32_t>& touched) {
    touched_ = &touched;
    written_.clear();
    evicted_.clear();
    if (task.kind() == TaskKind::kOp) {
      visit_op(task.first);
    } else {
      for (const Segment& segment : plan_.segments_of(task)) {
        touch(route(lane).from, segment.from, segment.value);
        claim(route(lane).to, segment.to, segment.value);
      }
    }
    // A move may write over what it has read.
    for (const std::uint32_t id : evicted_) {
      const bool by_itself = std::ranges::find(touched, id) != touched.end();
      Tenancy& old = found_.all[id];
      old.freed = by_itself ? without(old.range, written_) : std::vector{old.range};
    }
  }

  void visit_op(OpId op) {
    std::uint32_t use = program_.op(op).uses_begin;
    for (const Use it : program_.uses(op)) {
      const std::uint64_t address = plan_.operand_address(use++);
      if (it.access() == Access::kWrite) {
        claim(program_.operand_tier(op), address, it.value);
      } else {
        touch(program_.operand_tier(op), address, it.value);
      }
    }
  }

  void touch(Tier tier, std::uint64_t address, ValueId value) {
    const auto at = tenants_[index(tier)].find(address);
    if (at == tenants_[index(tier)].end() || at->second.value != value) return;
    if (std::ranges::find(*touched_, at->second.id) != touched_->end()) return;
    touched_->push_back(at->second.id);
    ++found_.all[at->second.id].tasks;
  }

  void claim(Tier tier, std::uint64_t address, ValueId value) {
    auto& tenants = tenants_[index(tier)];
    const Range taken = range(tier, address, value);
    written_.push_back(taken);
    auto next = tenants.lower_bound(taken.begin);
    if (next != tenants.begin() && found_.all[std::prev(next)->second.id].range.end > taken.begin)
      --next;
    while (next != tenants.end() && next->first < taken.end) {
      evicted_.push_back(next->second.id);
      next = tenants.erase(next);
    }
    begin(tier, address, value);
    touch(tier, address, value);
  }

  void begin(Tier tier, std::uint64_t address, ValueId value) {
    const auto id = static_cast<std::uint32_t>(found_.all.size());
    found_.all.push_back({tier, range(tier, address, value), 0, {}});
    tenants_[index(tier)][address] = {value, id};
  }

  Range range(Tier tier, std::uint64_t address, ValueId value) const {
    return {address, address + extent(program_.value(value).size_bytes, tier)};
  }
  bool is_home(Tier tier, std::uint64_t address, ValueId value) const {
    const Home* home = program_.home(value);
    return home != nullptr && home->tier == tier && home->address == address;
  }

  const Program& program_;
  const Plan& plan_;
  PerTier<std::map<std::uint64_t, Tenant>> tenants_;  // by address; never overlapping
  std::vector<std::uint32_t>* touched_ = nullptr;     // by the task at hand,
  std::vector<Range> written_;                        // and what it writes
  std::vector<std::uint32_t> evicted_;                // and overwrites
  Tenancies found_;
};

}  // namespace

Tenancies find_tenancies(const Program& program, const Plan& plan) {
  return Replay(program, plan).run();
}

}  // namespace ebbtide::plan_test
