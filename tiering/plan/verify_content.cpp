#include "tiering/plan/verify_content.hpp"

#include <algorithm>

#include "tiering/plan/verify_faults.hpp"
#include "tiering/plan/verify_pieces.hpp"

namespace ebbtide::verifying {
namespace {

constexpr bool is_same(Wait a, Wait b) {
  return a.lane == b.lane && a.count == b.count;
}

// One value's bytes at one place, about to be read or written by a task.
struct Touch {
  TaskAt task;
  const Clock& known;  // the task's clock
  Tier tier = Tier::kDevice;
  std::uint64_t address = 0;
  ValueId value = 0;
};

class Content {
 public:
  Content(const Program& program, const Plan& plan, const Clocks& clocks)
      : program_(program), plan_(plan), clocks_(clocks) {
    for (std::size_t tier = 0; tier < kTierCount; ++tier) {
      const std::uint64_t budget = plan.budgets.of(static_cast<Tier>(tier));
      tiers_.emplace_back(budget - budget % alignment(static_cast<Tier>(tier)));
    }
    number_versions();
    place_homes();
    fence_other_homes();
  }

  void check() {
    for (const Clocks::Run run : clocks_.walk())
      for (std::uint32_t& i = walked_[index(run.lane)]; i < run.end; ++i) step({run.lane, i});
    check_end();
  }

 private:
  // Versions by program order: the one that each use must find, and the last of each value.
  void number_versions() {
    last_version_.resize(program_.value_count());
    use_version_.resize(program_.use_count());
    for (OpId op = 0; op < program_.op_count(); ++op) {
      std::uint32_t use = program_.op(op).uses_begin;
      for (const Use it : program_.uses(op)) {
        std::uint32_t& version = last_version_[it.value];
        use_version_[use++] = version;
        if (it.writes()) ++version;
      }
    }
  }

  void place_homes() {
    for (ValueId value = 0; value < program_.value_count(); ++value) {
      const Home* home = program_.home(value);
      if (home == nullptr) continue;
      Pieces& tier = tiers_[index(home->tier)];
      const std::uint64_t end = home->address + extent(home->size_bytes, home->tier);
      tier.overlaps(home->address, end, [&](const Piece& piece) {
        if (piece.value != kNobody)
          reject(PlanFault::kMalformed, "the homes of {} and {} overlap at {} address {}",
                 program_.describe(value), program_.describe(piece.value), name(home->tier),
                 home->address);
      });
      tier.replace(home->address, end).value = value;
    }
  }

  // What is below home_bytes and is no home of this program belongs to others of the run.
  void fence_other_homes() {
    for (std::size_t tier = 0; tier < kTierCount; ++tier) {
      const auto unit = alignment(static_cast<Tier>(tier));
      const std::uint64_t budget = plan_.budgets.of(static_cast<Tier>(tier));
      const std::uint64_t end =
          std::min(align_up(program_.home_bytes()[tier], unit), budget / unit * unit);
      for (std::uint64_t at = 0; at < end;) {
        const Piece piece = tiers_[tier].at(at);
        const std::uint64_t next = std::min(piece.end, end);
        if (piece.value == kNobody) tiers_[tier].replace(at, next).value = kForeign;
        at = next;
      }
    }
  }

  void step(TaskAt at) {
    const Task& task = plan_.task(at);
    const Clock& known = clocks_.at_start(at);
    switch (task.kind()) {
      case TaskKind::kOp:
        return run_op(at, known, task.first);
      case TaskKind::kMove:
        return run_move(at, known, plan_.segments_of(task));
      case TaskKind::kTransfer:
        return run_transfer(at, known, plan_.segments_of(task));
    }
  }

  void run_op(TaskAt at, const Clock& known, OpId op) {
    const Tier tier = route(at.lane).from;
    const std::uint32_t begin = program_.op(op).uses_begin;
    const std::span<const Use> uses = program_.uses(op);
    for (std::uint32_t i = 0; i < uses.size(); ++i) {
      if (!uses[i].reads()) continue;
      const Touch touch{at, known, tier, plan_.operand_address(begin + i), uses[i].value};
      Piece& piece = find_content(touch);
      if (piece.version != use_version_[begin + i]) wrong_content(touch, use_version_[begin + i]);
      if (uses[i].access() == Access::kRead) {
        mark_read(touch, piece);
      } else {
        check_reuse(touch, piece);
        put(touch, piece, piece.version + 1);
      }
    }
    for (std::uint32_t i = 0; i < uses.size(); ++i) {
      if (uses[i].access() != Access::kWrite) continue;
      const Touch touch{at, known, tier, plan_.operand_address(begin + i), uses[i].value};
      write(touch, use_version_[begin + i] + 1);
    }
  }

  // Segments of a move come one after another: each knows that those before it have finished.
  void run_move(TaskAt at, const Clock& at_start, std::span<const Segment> segments) {
    Clock known = at_start;
    known.finished[index(at.lane)] = at.index + 1;
    for (const Segment& segment : segments) copy(at, known, segment);
  }

  void run_transfer(TaskAt at, const Clock& known, std::span<const Segment> segments) {
    for (const Segment& segment : segments) copy(at, known, segment);
  }

  void copy(TaskAt at, const Clock& known, const Segment& segment) {
    const Touch from{at, known, route(at.lane).from, segment.from, segment.value};
    Piece& source = find_content(from);
    const std::uint32_t version = source.version;
    mark_read(from, source);
    write({at, known, route(at.lane).to, segment.to, segment.value}, version);
  }

  // The piece that holds the value whole, whatever its version.
  Piece& find_content(const Touch& touch) {
    Piece& piece = tiers_[index(touch.tier)].at(touch.address);
    if (piece.value != touch.value || piece.begin != touch.address) [[unlikely]]
      wrong_content(touch, std::nullopt);
    if (!touch.known.covers(piece.writer)) [[unlikely]]
      reject(PlanFault::kUnorderedRead, "{} reads {} at {} address {}, not ordered after {}",
             who(touch.task), program_.describe(touch.value), name(touch.tier), touch.address,
             describe(program_, plan_, piece.writer));
    return piece;
  }

  static void mark_read(const Touch& touch, Piece& piece) {
    std::uint32_t& reader = piece.readers.finished[index(touch.task.lane)];
    reader = std::max(reader, touch.task.index + 1);
  }

  void write(const Touch& touch, std::uint32_t version) {
    Pieces& tier = tiers_[index(touch.tier)];
    const std::uint64_t end =
        touch.address + extent(program_.value(touch.value).size_bytes, touch.tier);
    tier.overlaps(touch.address, end, [&](const Piece& piece) { check_reuse(touch, piece); });
    put(touch, tier.replace(touch.address, end), version);
  }

  static void put(const Touch& touch, Piece& piece, std::uint32_t version) {
    piece.value = touch.value;
    piece.version = version;
    piece.writer = finish_of(touch.task);
    piece.readers = {};
  }

  // That the task comes after all that touched the bytes which it will overwrite.
  void check_reuse(const Touch& touch, const Piece& old) const {
    if (touch.known.covers(old.writer) && touch.known.covers(old.readers) && old.value != kForeign)
        [[likely]]
      return;
    if (old.value == kForeign)
      reject(PlanFault::kMalformed, "{} puts {} at {} address {}, into a home of another program",
             who(touch.task), program_.describe(touch.value), name(touch.tier), touch.address);
    Wait other = old.writer;
    for (std::size_t lane = 0; lane < kLaneCount && touch.known.covers(other); ++lane)
      other = {static_cast<std::uint32_t>(lane) & 7U, old.readers.finished[lane] & 0x1fffffffU};
    if (is_same(other, finish_of(touch.task))) overlap_in_task(touch, old);
    reject(PlanFault::kUnorderedReuse,
           "{} overwrites {} at {} address {} with {}, not ordered after {}", who(touch.task),
           describe(program_, old.value), name(touch.tier), touch.address,
           program_.describe(touch.value), describe(program_, plan_, other));
  }

  [[noreturn]] void overlap_in_task(const Touch& touch, const Piece& old) const {
    const bool is_op = !is_transfer(touch.task.lane);
    reject(is_op ? PlanFault::kMalformed : PlanFault::kUnorderedReuse,
           "{} {} {} and {} overlap at {} address {}", who(touch.task),
           is_op ? "has operands that share bytes:" : "writes the same bytes twice:",
           program_.describe(touch.value), describe(program_, old.value), name(touch.tier),
           touch.address);
  }

  // Names the fault of a read that does not find its value: a race, if another order that the
  // waits allow would have shown it, or else plainly wrong content.
  [[noreturn]] void wrong_content(const Touch& touch, std::optional<std::uint32_t> version) {
    const Piece found = tiers_[index(touch.tier)].at(touch.address);
    std::string holds = describe(program_, found.value);
    if (found.value < kForeign) holds += fmt::format(" version {}", found.version);
    std::string text = fmt::format("{} reads {}", who(touch.task), program_.describe(touch.value));
    if (version) text += fmt::format(" version {}", *version);
    text +=
        fmt::format(" at {} address {}, which holds {}", name(touch.tier), touch.address, holds);
    Wait racing{};
    Piece over;
    const std::uint64_t end =
        touch.address + extent(program_.value(touch.value).size_bytes, touch.tier);
    tiers_[index(touch.tier)].overlaps(touch.address, end, [&](const Piece& piece) {
      if (!touch.known.covers(piece.writer)) racing = (over = piece).writer;
    });
    if (is_same(racing, finish_of(touch.task))) overlap_in_task(touch, over);
    if (racing.count > 0)
      reject(PlanFault::kUnorderedReuse, "{}: {} overwrote it and is not ordered after it", text,
             describe(program_, plan_, racing));
    if (const auto writer = concurrent_writer(touch))
      reject(PlanFault::kUnorderedRead, "{}: it is not ordered after {}", text, who(*writer));
    reject(PlanFault::kWrongContent, "{}", text);
  }

  // A task not walked yet that puts the value there and that the waits let run beside this one.
  std::optional<TaskAt> concurrent_writer(const Touch& touch) const {
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      const auto count = static_cast<std::uint32_t>(plan_.tasks[lane].size());
      for (std::uint32_t i = walked_[lane]; i < count; ++i) {
        const TaskAt at{static_cast<Lane>(lane), i};
        if (clocks_.at_start(at).covers(finish_of(touch.task))) break;
        if (at != touch.task && puts(at, touch)) return at;
      }
    }
    return std::nullopt;
  }

  bool puts(TaskAt at, const Touch& touch) const {
    if (route(at.lane).to != touch.tier) return false;
    const Task& task = plan_.task(at);
    if (task.kind() != TaskKind::kOp)
      return std::ranges::any_of(plan_.segments_of(task), [&](const Segment& segment) {
        return segment.value == touch.value && segment.to == touch.address;
      });
    std::uint32_t use = program_.op(task.first).uses_begin;
    return std::ranges::any_of(program_.uses(task.first), [&](Use it) {
      return plan_.operand_address(use++) == touch.address && it.value == touch.value &&
             it.writes();
    });
  }

  void check_end() {
    for (ValueId value = 0; value < program_.value_count(); ++value) {
      const Home* home = program_.home(value);
      if (home == nullptr) continue;
      const Piece& piece = tiers_[index(home->tier)].at(home->address);
      if (piece.value == value && piece.begin == home->address &&
          piece.version == last_version_[value])
        continue;
      reject(PlanFault::kEndState,
             "{} must end at {} address {} with version {}, which holds {} version {}",
             program_.describe(value), name(home->tier), home->address, last_version_[value],
             describe(program_, piece.value), piece.version);
    }
  }

  std::string who(TaskAt at) const { return describe(program_, plan_, at); }

  const Program& program_;
  const Plan& plan_;
  const Clocks& clocks_;
  std::vector<Pieces> tiers_;
  std::vector<std::uint32_t> last_version_;  // by value
  std::vector<std::uint32_t> use_version_;   // by use: the version before it
  PerLane<std::uint32_t> walked_{};
};

}  // namespace

void check_content(const Program& program, const Plan& plan, const Clocks& clocks) {
  Content(program, plan, clocks).check();
}

}  // namespace ebbtide::verifying
