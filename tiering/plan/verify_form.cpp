#include "tiering/plan/verify_form.hpp"

#include <optional>

#include "tiering/plan/verify_faults.hpp"

namespace ebbtide::verifying {
namespace {

// Past this, sums of addresses and sizes could wrap.
constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 60;

class Form {
 public:
  Form(const Program& program, const Plan& plan) : program_(program), plan_(plan) {}

  void check() const {
    check_sizes();
    check_homes();
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) check_lane(static_cast<Lane>(lane));
    for (const Place place : {Place::kDevice, Place::kHost, Place::kComm}) check_ops(place);
    for (OpId op = 0; op < program_.op_count(); ++op) check_operands(op);
  }

 private:
  void check_sizes() const {
    if (plan_.operand_units.size() != program_.use_count())
      reject(PlanFault::kMalformed, "the plan has {} operand addresses for {} uses",
             plan_.operand_units.size(), program_.use_count());
    for (ValueId value = 0; value < program_.value_count(); ++value)
      if (program_.value(value).size_bytes > kLargestSize)
        reject(PlanFault::kMalformed, "{} has {} bytes", program_.describe(value),
               program_.value(value).size_bytes);
    for (std::size_t tier = 0; tier < kTierCount; ++tier) {
      const std::uint64_t budget = plan_.budgets.of(static_cast<Tier>(tier));
      if (program_.home_bytes()[tier] > budget || plan_.span_bytes[tier] > budget)
        reject(PlanFault::kOverBudget,
               "the {} budget is {} bytes; homes take {}, the plan spans {}",
               name(static_cast<Tier>(tier)), budget, program_.home_bytes()[tier],
               plan_.span_bytes[tier]);
    }
  }

  void check_homes() const {
    for (ValueId value = 0; value < program_.value_count(); ++value) {
      const Home* home = program_.home(value);
      if (home == nullptr) continue;
      if (home->size_bytes != program_.value(value).size_bytes)
        reject(PlanFault::kMalformed, "{} has {} bytes, its home {}", program_.describe(value),
               program_.value(value).size_bytes, home->size_bytes);
      check_address(home->tier, home->address, value, "the home of", std::nullopt);
    }
  }

  void check_lane(Lane lane) const {
    const std::vector<Task>& tasks = plan_.tasks[index(lane)];
    if (tasks.empty()) return;
    if (tasks.size() >= (1U << 29))
      reject(PlanFault::kMalformed, "lane {} has {} tasks", name(lane), tasks.size());
    const std::uint32_t width = plan_.width[index(lane)];
    const bool is_disk = lane == Lane::kNvmeWrite || lane == Lane::kNvmeRead;
    if (width == 0 || (width > 1 && !is_disk))
      reject(PlanFault::kMalformed, "lane {} has width {}", name(lane), width);
    for (std::uint32_t i = 0; i < tasks.size(); ++i) {
      check_waits({lane, i});
      check_task({lane, i});
    }
  }

  const Task& task(TaskAt at) const { return plan_.task(at); }

  void check_waits(TaskAt at) const {
    const Task& it = task(at);
    if (std::uint64_t{it.waits_begin} + it.wait_count > plan_.waits.size())
      reject(PlanFault::kMalformed, "{} task {} names waits {} to {} of {}", name(at.lane),
             at.index, it.waits_begin, std::uint64_t{it.waits_begin} + it.wait_count,
             plan_.waits.size());
    for (const Wait wait : plan_.waits_of(it)) {
      if (wait.lane >= kLaneCount)
        reject(PlanFault::kMalformed, "{} task {} waits for lane {}", name(at.lane), at.index,
               std::uint32_t{wait.lane});
      if (wait.count > plan_.tasks[wait.lane].size())
        reject(PlanFault::kDeadlock, "{} task {} waits for {} tasks of {}, which has {}",
               name(at.lane), at.index, std::uint32_t{wait.count},
               name(static_cast<Lane>(std::uint32_t{wait.lane})), plan_.tasks[wait.lane].size());
    }
  }

  void check_task(TaskAt at) const {
    const TaskKind kind = task(at).kind();
    const bool can = kind == TaskKind::kTransfer ? is_transfer(at.lane)
                     : kind == TaskKind::kMove   ? at.lane == Lane::kCompute
                     : kind == TaskKind::kOp     ? !is_transfer(at.lane)
                                                 : false;
    if (!can)
      reject(PlanFault::kMalformed, "{} task {} is of kind {}, which this lane cannot do",
             name(at.lane), at.index, static_cast<int>(kind));
    if (kind != TaskKind::kOp) check_segments(at);
  }

  void check_segments(TaskAt at) const {
    const Task& it = task(at);
    if (it.count == 0 || std::uint64_t{it.first} + it.count > plan_.segments.size())
      reject(PlanFault::kMalformed, "{} task {} names segments {} to {} of {}", name(at.lane),
             at.index, it.first, std::uint64_t{it.first} + it.count, plan_.segments.size());
    for (const Segment& segment : plan_.segments_of(it)) {
      if (segment.value >= program_.value_count())
        reject(PlanFault::kMalformed, "{} task {} moves value {} of {}", name(at.lane), at.index,
               segment.value, program_.value_count());
      check_touched(route(at.lane).from, segment.from, segment.value, at);
      check_touched(route(at.lane).to, segment.to, segment.value, at);
    }
  }

  void check_ops(Place place) const {
    const Lane lane = op_lane(place);
    OpId next = 0;  // the first op that may come
    const std::vector<Task>& tasks = plan_.tasks[index(lane)];
    for (std::uint32_t i = 0; i < tasks.size(); ++i) {
      if (tasks[i].kind() != TaskKind::kOp) continue;
      const OpId op = tasks[i].first;
      if (op >= program_.op_count())
        reject(PlanFault::kMalformed, "{} task {} is op {} of {}", name(lane), i, op,
               program_.op_count());
      if (program_.place(op) != place)
        reject(PlanFault::kMalformed, "{} cannot run on this lane",
               describe(program_, plan_, TaskAt{lane, i}));
      check_none_left_out(next, op, place, lane);
      if (op < next)
        reject(PlanFault::kOpOrder, "{} comes after op {}",
               describe(program_, plan_, TaskAt{lane, i}), next - 1);
      next = op + 1;
    }
    check_none_left_out(next, static_cast<OpId>(program_.op_count()), place, lane);
  }

  void check_none_left_out(OpId begin, OpId end, Place place, Lane lane) const {
    for (OpId op = begin; op < end; ++op)
      if (program_.place(op) == place)
        reject(PlanFault::kOpOrder, "op {} ({}) is not where its order puts it in lane {}", op,
               program_.kernel(program_.op(op).kernel).name, name(lane));
  }

  void check_operands(OpId op) const {
    const Tier tier = program_.operand_tier(op);
    const std::uint32_t begin = program_.op(op).uses_begin;
    const std::span<const Use> uses = program_.uses(op);
    for (std::uint32_t i = 0; i < uses.size(); ++i)
      check_touched(tier, plan_.operand_address(begin + i), uses[i].value, op);
  }

  template <typename Who>
  void check_touched(Tier tier, std::uint64_t address, ValueId value, Who who) const {
    const std::uint64_t size = extent(program_.value(value).size_bytes, tier);
    if (address % alignment(tier) == 0 && size <= plan_.span_bytes[index(tier)] &&
        address <= plan_.span_bytes[index(tier)] - size) [[likely]]
      return;
    const std::string by = by_whom(who);
    check_address(tier, address, value, by.c_str(), plan_.span_bytes[index(tier)]);
  }

  std::string by_whom(TaskAt at) const { return describe(program_, plan_, at) + " puts or takes"; }
  std::string by_whom(OpId op) const {
    return fmt::format("op {} ({}) uses", op, program_.kernel(program_.op(op).kernel).name);
  }

  void check_address(Tier tier, std::uint64_t address, ValueId value, const char* who,
                     std::optional<std::uint64_t> span) const {
    if (address % alignment(tier) != 0)
      reject(PlanFault::kMalformed, "{} {} at {} address {}, no multiple of {}", who,
             program_.describe(value), name(tier), address, alignment(tier));
    const std::uint64_t size = extent(program_.value(value).size_bytes, tier);
    const std::uint64_t budget = plan_.budgets.of(tier);
    if (size > budget || address > budget - size)
      reject(PlanFault::kOverBudget, "{} {} at {} address {} with {} bytes, past the budget of {}",
             who, program_.describe(value), name(tier), address, size, budget);
    if (span && (size > *span || address > *span - size))
      reject(PlanFault::kMalformed,
             "{} {} at {} address {} with {} bytes, past the stated span of {}", who,
             program_.describe(value), name(tier), address, size, *span);
  }

  const Program& program_;
  const Plan& plan_;
};

}  // namespace

void check_form(const Program& program, const Plan& plan) {
  Form(program, plan).check();
}

}  // namespace ebbtide::verifying
