#include "src/plan/explain.hpp"
#include "src/model/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "src/plan/plan_text.hpp"
#include "src/plan/value_names.hpp"
#include "src/plan/value_story.hpp"
#include "src/report/units.hpp"

namespace ebbtide::plan {
namespace {

using report::bytes_text;
using report::seconds_text;

constexpr std::array kTiers{Tier::kDevice, Tier::kHost, Tier::kNvme};

// Values of one kind in one program.
struct Group {
  const SimulatedProgram& simulated;
  KindId kind;
  std::map<ValueId, ValueStory> stories;

  const Program& program() const { return *simulated.program; }
};

// Of values without a home that go as far as `tier`.
std::string why_there(const Group& group, Tier tier) {
  const Program& program = group.program();
  std::size_t count = 0;
  std::size_t by_policy = 0;
  double shortest_s = 1e300;
  double longest_s = 0;
  for (const auto& [value, story] : group.stories) {
    if (story.lowest(program, value) != tier) continue;
    ++count;
    by_policy += story.leaves_by_policy() ? 1 : 0;
    shortest_s = std::min(shortest_s, story.longest_gap_s());
    longest_s = std::max(longest_s, story.longest_gap_s());
  }
  if (count == 0) return {};
  std::string text = fmt::format("    {:>7} {}: ", count,
                                 tier == Tier::kDevice ? "never leave the device"
                                 : tier == Tier::kHost ? "go to the host"
                                                       : "go to NVMe");
  if (tier == Tier::kDevice)
    text += "there is room for them until they are used last";
  else if (by_policy == count)
    text += "the activation policy sends them away after their use in forward";
  else
    text += "others needed the room sooner";
  if (tier == Tier::kNvme) text += ", and the host has none to spare";
  return text + fmt::format("; longest time between two uses {} to {}\n", seconds_text(shortest_s),
                            seconds_text(longest_s));
}

std::string homes_text(const Group& group) {
  std::string text;
  for (const Tier tier : kTiers) {
    std::size_t count = 0;
    std::size_t visiting = 0;
    for (const auto& [value, story] : group.stories) {
      if (group.program().home(value)->tier != tier) continue;
      ++count;
      visiting += std::ranges::any_of(
          story.events, [](const ValueEvent& event) { return event.task == TaskKind::kTransfer; });
    }
    if (count == 0) continue;
    text += fmt::format(
        "    {:>7} live on {} across steps; {} of them travel in this program, to "
        "where they are used and back if they change\n",
        count, name(tier), visiting);
  }
  return text;
}

std::string group_text(const Group& group, const PlannedRun& run) {
  const Program& program = group.program();
  const ValueKind& kind = program.kind(group.kind);
  std::uint64_t bytes = 0;
  for (const auto& [value, story] : group.stories) bytes += program.value(value).size_bytes;
  std::string text = fmt::format("  {} {} ({}), {} in all\n", group.stories.size(), kind.name,
                                 kind.category, bytes_text(bytes));
  if (program.home(group.stories.begin()->first) != nullptr) return text + homes_text(group);
  for (const Tier tier : kTiers) text += why_there(group, tier);
  if (kind.category == "saved activations")
    text += fmt::format("    saved from forward to backward; activations: {}\n",
                        model::describe(run.plans->recipe().activations));
  else
    text += "    not saved: made where they are needed, again in backward where forward had them\n";
  return text;
}

std::string_view what_happens(const ValueEvent& event) {
  if (event.task == TaskKind::kMove) return "moves inside the device";
  if (event.task == TaskKind::kTransfer) {
    switch (event.lane) {
      case Lane::kD2h:
        return "device to host";
      case Lane::kH2d:
        return "host to device";
      case Lane::kNvmeWrite:
        return "host to NVMe";
      default:
        return "NVMe to host";
    }
  }
  return event.access == Access::kRead    ? "read by"
         : event.access == Access::kWrite ? "made by"
                                          : "updated by";
}

// Uses by one op in a row are one line.
std::string story_text(const Program& program, ValueId value, const ValueStory& story) {
  std::string text = fmt::format("  {}, {}\n", program.describe(value),
                                 bytes_text(program.value(value).size_bytes));
  const auto line_of = [&](const ValueEvent& event) {
    std::string line(what_happens(event));
    if (event.task == TaskKind::kOp)
      line += " " + program.kernel(program.op(event.op).kernel).name +
              (event.after == After::kLeave ? ", after which it is to leave" : "");
    return line;
  };
  for (std::size_t first = 0; first < story.events.size();) {
    const std::string line = line_of(story.events[first]);
    std::size_t last = first;
    while (last + 1 < story.events.size() && line_of(story.events[last + 1]) == line) ++last;
    text += fmt::format("    {:>12.6f} to {:>12.6f} s  {}{}\n", story.events[first].start_s,
                        story.events[last].end_s, line,
                        last > first ? fmt::format(", {} times", last - first + 1) : "");
    first = last + 1;
  }
  return text;
}

}  // namespace

std::string explain(const PlannedRun& run, const std::string& what) {
  const WantedValue wanted = wanted_value(run, what);
  std::string text;
  for (const SimulatedProgram& simulated : run.step) {
    const Program& program = *simulated.program;
    std::string of_program;
    for (KindId kind = 0; kind < program.kind_count(); ++kind) {
      if (!same_name(program.kind(kind).name, wanted.kind)) continue;
      std::set<ValueId> values;
      for (ValueId id = 0; id < program.value_count(); ++id)
        if (program.value(id).kind == kind && wanted.is_at(program.value(id).at)) values.insert(id);
      if (values.empty()) continue;
      const Group group{simulated, kind, stories_of(simulated, values)};
      of_program += group_text(group, run);
      constexpr std::size_t kTold = 4;  // a value that is made again is two
      if (!wanted.at.empty() || values.size() == 1)
        for (const auto& [value, story] : group.stories)
          if (values.size() <= kTold) of_program += story_text(program, value, story);
    }
    if (!of_program.empty()) text += fmt::format("{}\n{}", simulated.name, of_program);
  }
  if (text.empty()) refuse_place(run, wanted);
  return text;
}

}  // namespace ebbtide::plan
