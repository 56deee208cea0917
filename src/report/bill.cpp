#include "src/report/bill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ebbtide/timeline.hpp"
#include "src/report/occupancy.hpp"
#include "src/report/units.hpp"

namespace ebbtide::report {
namespace {

using BytesByCategory = std::map<std::string, std::uint64_t>;

// Homes of all programs, each counted once.
PerTier<BytesByCategory> homes_by_category(std::span<const Planned> programs) {
  PerTier<BytesByCategory> bytes;
  std::set<std::pair<Tier, std::uint64_t>> seen;
  for (const Planned& planned : programs) {
    const Program& program = *planned.program;
    for (ValueId id = 0; id < program.value_count(); ++id) {
      const Home* home = program.home(id);
      if (home == nullptr || !seen.emplace(home->tier, home->address).second) continue;
      bytes[index(home->tier)][program.kind(program.value(id).kind).category] +=
          extent(home->size_bytes, home->tier);
    }
  }
  return bytes;
}

void add_kinds(const Program& program, const BytesByKind& bytes, BytesByCategory& sum) {
  for (KindId kind = 0; kind < bytes.size(); ++kind) {
    if (bytes[kind] > 0) sum[program.kind(kind).category] += bytes[kind];
  }
}

std::vector<BillLine> largest_first(const BytesByCategory& bytes) {
  std::vector<BillLine> lines;
  for (const auto& [category, size] : bytes) lines.push_back({category, size});
  std::stable_sort(lines.begin(), lines.end(),
                   [](const BillLine& a, const BillLine& b) { return a.bytes > b.bytes; });
  return lines;
}

const Planned& fullest_in(std::span<const Planned> programs, Tier tier) {
  return *std::max_element(
      programs.begin(), programs.end(), [tier](const Planned& a, const Planned& b) {
        return a.plan->peak_bytes[index(tier)] < b.plan->peak_bytes[index(tier)];
      });
}

void append_tier(std::string& out, Tier tier, const TierBill& bill) {
  if (bill.budget_bytes == 0 && bill.reserved_bytes == 0) return;
  // The number that a run predicts, reserves and then measures: one peak, under one name.
  out += fmt::format("  {:<6} peak {:>12}, of a budget of {}\n", name(tier),
                     bytes_text(bill.reserved_bytes), bytes_text(bill.budget_bytes));
  std::uint64_t named = 0;
  for (const BillLine& line : bill.lines) {
    out += fmt::format("    {:<32}{:>12}\n", line.category, bytes_text(line.bytes));
    named += line.bytes;
  }
  if (named < bill.reserved_bytes)
    out += fmt::format("    {:<32}{:>12}\n", "gaps, and room for what comes",
                       bytes_text(bill.reserved_bytes - named));
}

}  // namespace

std::uint64_t MemoryBill::constant_bytes() const {
  std::uint64_t sum = 0;
  for (const BillLine& line : constant) sum += line.bytes;
  return sum;
}

namespace {

// The engine keeps one interval for each task of a lane, of the longest plan.
std::uint64_t timeline_bytes(std::span<const Planned> programs) {
  std::uint64_t tasks = 0;
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    std::size_t most = 0;
    for (const Planned& planned : programs) most = std::max(most, planned.plan->tasks[lane].size());
    tasks += most;
  }
  return tasks * sizeof(Interval);
}

}  // namespace

MemoryBill memory_bill(std::span<const Planned> programs, const HardwareModel& hardware) {
  MemoryBill bill;
  const PerTier<BytesByCategory> homes = homes_by_category(programs);
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
    const Planned& fullest = fullest_in(programs, tier);
    const Timeline timeline = simulate(*fullest.program, *fullest.plan, hardware);
    TierBill& to = bill.tiers[index(tier)];
    BytesByCategory bytes = homes[index(tier)];
    add_kinds(*fullest.program,
              fullest_moment(*fullest.program, *fullest.plan, timeline)[index(tier)], bytes);
    to.budget_bytes = fullest.plan->budgets.of(tier);
    to.peak_bytes = fullest.plan->peak_bytes[index(tier)];
    to.lines = largest_first(bytes);
    for (const Planned& planned : programs)
      to.reserved_bytes = std::max(to.reserved_bytes, planned.plan->span_bytes[index(tier)]);
  }
  std::uint64_t plans = 0;
  for (const Planned& planned : programs)
    plans += planned.plan->memory_bytes() + planned.program->memory_bytes();
  bill.constant.push_back({"programs and plans", plans});
  bill.constant.push_back({"timeline", timeline_bytes(programs)});
  return bill;
}

std::string text(const MemoryBill& bill) {
  std::string out = "memory bill\n";
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme})
    append_tier(out, tier, bill.tiers[index(tier)]);
  out += fmt::format("  {:<11} {:>12} beside the tiers\n", "constant",
                     bytes_text(bill.constant_bytes()));
  for (const BillLine& line : bill.constant)
    out += fmt::format("    {:<32}{:>12}\n", line.category, bytes_text(line.bytes));
  if (bill.smallest_device_bytes > 0)
    out += fmt::format("  smallest --device-memory that fits: {} ({} bytes)\n",
                       bytes_text(bill.smallest_device_bytes), bill.smallest_device_bytes);
  return out;
}

}  // namespace ebbtide::report
