#include "src/report/step_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "src/report/occupancy.hpp"

namespace ebbtide::report {
namespace {

// Of all lanes at their finest: some 2 MB of page.
constexpr std::size_t kMostBlocks = 20000;
constexpr std::size_t kMostStretches = 4000;  // in which compute stood still
constexpr std::size_t kMemoryStretches = 600;

// Names by their place in a list, each once.
class Names {
 public:
  std::uint32_t of(const std::string& name) {
    const auto [at, fresh] = places_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (fresh) names_.push_back(name);
    return at->second;
  }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  std::unordered_map<std::string, std::uint32_t> places_;
  std::vector<std::string> names_;
};

// Blocks that each lane may have: lanes with few tasks keep them all, the others share the rest.
PerLane<std::size_t> shares(const PerLane<std::size_t>& tasks) {
  std::array<std::size_t, kLaneCount> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return tasks[a] < tasks[b]; });
  PerLane<std::size_t> shares{};
  std::size_t left = kMostBlocks;
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    const std::size_t share = std::min(tasks[order[i]], left / (kLaneCount - i));
    shares[order[i]] = share;
    left -= share;
  }
  return shares;
}

class View {
 public:
  View(const StepRecord& record, const HardwareModel& hardware)
      : record_(record), hardware_(hardware) {}

  StepView make() {
    view_.step = record_.step;
    view_.step_seconds = record_.step_seconds;
    for (const ProgramRun& run : record_.runs)
      view_.runs.push_back({run.name, run.start_s, run.start_s + run.timeline.step_seconds});
    view_.exposure = exposure_of(record_, hardware_);
    add_still();
    add_lanes();
    add_kernels();
    view_.memory = memory_over_step(record_, kMemoryStretches);
    view_.names = names_.take();
    return std::move(view_);
  }

 private:
  void add_still() {
    for (const StillStretch& stretch : still_stretches(record_, hardware_))
      view_.still.push_back({stretch.start_s, stretch.end_s, stretch.main_cause()});
    std::vector<StillView>& still = view_.still;
    if (still.size() <= kMostStretches) return;
    const auto length = [](const StillView& stretch) { return stretch.end_s - stretch.start_s; };
    const auto cut = still.begin() + static_cast<std::ptrdiff_t>(kMostStretches);
    std::ranges::nth_element(still, cut, std::greater<>(), length);
    view_.shorter_still = still.size() - kMostStretches;
    for (auto at = cut; at != still.end(); ++at) view_.shorter_still_s += length(*at);
    still.erase(cut, still.end());
    std::ranges::sort(still, std::less<>(), &StillView::start_s);
  }

  void add_lanes() {
    PerLane<std::size_t> counts{};
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      for (const ProgramRun& run : record_.runs) counts[lane] += run.plan->tasks[lane].size();
    }
    const PerLane<std::size_t> most = shares(counts);
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      if (counts[lane] > 0)
        view_.lanes[lane] = lane_view(tasks_of(record_, static_cast<Lane>(lane)), most[lane]);
    }
  }

  LaneView lane_view(std::vector<Block> tasks, std::size_t most) {
    LaneView lane{.tasks = tasks.size()};
    for (const Block& task : tasks) {
      lane.bytes += task.bytes;
      lane.flops += task.flops;
    }
    for (BlockLevel& level : levels_of(std::move(tasks), record_.step_seconds, most)) {
      LevelView& shown = lane.levels.emplace_back(LevelView{std::move(level), {}});
      for (const Block& block : shown.level.blocks) shown.names.push_back(names_of(block));
    }
    return lane;
  }

  BlockNames names_of(const Block& block) {
    BlockNames names{.what = names_.of(describe(block.longest))};
    names.made = made_by(block.longest);
    if (block.longest_wait_s > 0)
      names.waited_for = names_.of(fmt::format("{}: {}", ebbtide::name(block.waited_for.at.lane),
                                               describe(block.waited_for)));
    return names;
  }

  const Task& task(const StepTask& at) const { return record_.runs[at.run].plan->task(at.at); }

  std::string describe(const StepTask& at) const {
    const ProgramRun& run = record_.runs[at.run];
    const Task& the_task = task(at);
    if (the_task.kind() == TaskKind::kOp)
      return run.program->kernel(run.program->op(the_task.first).kernel).name;
    const std::string first = run.program->describe(run.plan->segments_of(the_task).front().value);
    const std::string what = the_task.kind() == TaskKind::kMove ? "moves " + first : first;
    return the_task.count > 1 ? fmt::format("{} and {} more", what, the_task.count - 1) : what;
  }

  std::optional<std::uint32_t> made_by(const StepTask& at) {
    const Program& program = *record_.runs[at.run].program;
    if (task(at).kind() != TaskKind::kOp) return std::nullopt;
    for (const Use& use : program.uses(task(at).first)) {
      if (use.writes()) return names_.of(program.describe(use.value));
    }
    return std::nullopt;
  }

  void add_kernels() {
    std::map<std::pair<Lane, std::string>, KernelUse> uses;
    for (const ProgramRun& run : record_.runs) {
      for (const Lane lane : {Lane::kCompute, Lane::kHostCompute, Lane::kComm})
        add_kernels_of(run, lane, uses);
    }
    for (auto& [key, use] : uses) view_.kernels.push_back(std::move(use));
    std::ranges::stable_sort(view_.kernels, [](const KernelUse& a, const KernelUse& b) {
      return a.seconds > b.seconds;
    });
  }

  static void add_kernels_of(const ProgramRun& run, Lane lane,
                             std::map<std::pair<Lane, std::string>, KernelUse>& uses) {
    const std::vector<Task>& tasks = run.plan->tasks[index(lane)];
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const Interval& when = run.timeline.tasks[index(lane)][i];
      const bool is_op = tasks[i].kind() == TaskKind::kOp;
      const Kernel* kernel =
          is_op ? &run.program->kernel(run.program->op(tasks[i].first).kernel) : nullptr;
      KernelUse& use = uses[{lane, is_op ? kernel->name : "moves in the device"}];
      if (use.ops++ == 0) {
        use.kernel = is_op ? kernel->name : "moves in the device";
        use.lane = lane;
        if (is_op) use.op_class = kernel->op_class;
      }
      use.seconds += when.end_s - when.start_s;
      if (!is_op) {
        for (const Segment& segment : run.plan->segments_of(tasks[i]))
          use.bytes += static_cast<double>(run.program->value(segment.value).size_bytes);
        continue;
      }
      const OpCost& cost = run.program->cost(tasks[i].first);
      use.flops += cost.flops;
      use.bytes += lane == Lane::kComm ? cost.sent_bytes : cost.memory_bytes;
    }
  }

  const StepRecord& record_;
  const HardwareModel& hardware_;
  StepView view_;
  Names names_;
};

}  // namespace

StepView step_view(const StepRecord& record, const HardwareModel& hardware) {
  return View(record, hardware).make();
}

// Of the largest lane, while its tasks are merged.
std::uint64_t block_bytes(const StepRecord& record) {
  PerLane<std::uint64_t> tasks{};
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    for (const ProgramRun& run : record.runs) tasks[lane] += run.plan->tasks[lane].size();
  }
  return 2 * *std::ranges::max_element(tasks) * sizeof(Block);
}

std::uint64_t step_view_bytes(const StepRecord& record) {
  // The view, its JSON and the page's text: some 20,000 blocks of about 100 bytes, several times.
  constexpr std::uint64_t kResultBytes = std::uint64_t{32} << 20;
  std::uint64_t walk = 0;  // the walk of the longest run: its order, and each stay's two ends
  for (const ProgramRun& run : record.runs) {
    std::uint64_t tasks = 0;
    for (const std::vector<Task>& lane : run.plan->tasks) tasks += lane.size();
    const std::uint64_t stays = run.program->use_count() + run.plan->segments.size();
    walk = std::max(walk, tasks * 2 * sizeof(TaskAt) + stays * 2 * sizeof(HeldChange));
  }
  std::uint64_t timelines = 0;  // of the record
  for (const ProgramRun& run : record.runs) {
    for (const std::vector<Task>& lane : run.plan->tasks)
      timelines += lane.size() * sizeof(Interval);
  }
  return kResultBytes + timelines + std::max(walk, block_bytes(record));
}

}  // namespace ebbtide::report
