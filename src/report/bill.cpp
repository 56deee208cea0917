#include "src/report/bill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "ebbtide/error.hpp"
#include "ebbtide/timeline.hpp"
#include "src/report/homes.hpp"
#include "src/report/occupancy.hpp"
#include "src/report/units.hpp"

namespace ebbtide::report {
namespace {

void add_kinds(const Program& program, const BytesByKind& bytes, BytesByName& sum) {
  for (KindId kind = 0; kind < bytes.size(); ++kind) {
    const ValueKind& named = program.kind(kind);
    if (bytes[kind] > 0) sum[named.category][named.name] += bytes[kind];
  }
}

constexpr auto kMoreBytes = [](const auto& a, const auto& b) { return a.bytes > b.bytes; };

std::vector<BillLine> largest_first(const BytesByName& bytes, const PerTier<BytesByName>& homes) {
  const auto lives_on = [&](const std::string& category) {
    return std::ranges::any_of(homes, [&](const auto& tier) { return tier.contains(category); });
  };
  std::vector<BillLine> lines;
  for (const auto& [category, kinds] : bytes) {
    const Lifetime lifetime = lives_on(category) ? Lifetime::kRun : Lifetime::kStep;
    BillLine& line = lines.emplace_back(BillLine{.category = category, .lifetime = lifetime});
    for (const auto& [kind, size] : kinds) {
      line.bytes += size;
      line.parts.push_back({kind, size});
    }
    std::stable_sort(line.parts.begin(), line.parts.end(), kMoreBytes);
  }
  std::stable_sort(lines.begin(), lines.end(), kMoreBytes);
  return lines;
}

std::size_t fullest_in(std::span<const Planned> programs, Tier tier) {
  const auto fullest = std::max_element(
      programs.begin(), programs.end(), [tier](const Planned& a, const Planned& b) {
        return a.plan->peak_bytes[index(tier)] < b.plan->peak_bytes[index(tier)];
      });
  return static_cast<std::size_t>(fullest - programs.begin());
}

// Kinds below this part of their tier's peak are summed.
constexpr std::uint64_t kShownShare = 100;

void append_line(std::string& out, int indent, std::string_view name, std::uint64_t bytes) {
  out += fmt::format("{:{}}{:<{}}{:>12}\n", "", indent, name, 36 - indent, bytes_text(bytes));
}

void append_parts(std::string& out, const BillLine& line, std::uint64_t peak_bytes) {
  if (line.parts.size() < 2 || line.lifetime == Lifetime::kRun) return;
  std::uint64_t others = 0;
  for (const BillPart& part : line.parts) {
    if (part.bytes < peak_bytes / kShownShare)
      others += part.bytes;
    else
      append_line(out, 6, part.kind, part.bytes);
  }
  if (others > 0 && others < line.bytes) append_line(out, 6, "others", others);
}

void append_tier(std::string& out, Tier tier, const TierBill& bill, BillDetail detail) {
  if (bill.budget_bytes == 0 && bill.reserved_bytes == 0) return;
  // The number that a run predicts, reserves and then measures: one peak, under one name.
  out += fmt::format("  {:<6} peak {:>12}, of a budget of {}\n", name(tier),
                     bytes_text(bill.reserved_bytes), bytes_text(bill.budget_bytes));
  for (const BillLine& line : bill.lines) {
    append_line(out, 4, line.category, line.bytes);
    if (detail == BillDetail::kKinds) append_parts(out, line, bill.peak_bytes);
  }
  if (bill.held_bytes() > 0) append_line(out, 4, "held for transfers to come", bill.held_bytes());
  if (bill.fragmentation_bytes() > 0)
    append_line(out, 4, "fragmentation", bill.fragmentation_bytes());
}

}  // namespace

std::uint64_t TierBill::named_bytes() const {
  std::uint64_t sum = 0;
  for (const BillLine& line : lines) sum += line.bytes;
  return sum;
}

std::uint64_t MemoryBill::constant_bytes() const {
  std::uint64_t sum = 0;
  for (const BillLine& line : constant) sum += line.bytes;
  return sum;
}

void MemoryBill::add_constant(std::string what, std::uint64_t bytes) {
  constant.push_back({.category = std::move(what), .bytes = bytes});
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
  std::vector<const Program*> all;
  for (const Planned& planned : programs) all.push_back(planned.program);
  const PerTier<BytesByName> homes = homes_by_name(all);
  std::map<std::size_t, PerTier<BytesByKind>> moments;  // by program; walking one takes long
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
    const std::size_t at = fullest_in(programs, tier);
    const Program& program = *programs[at].program;
    const Plan& plan = *programs[at].plan;
    if (!moments.contains(at))
      moments[at] = fullest_moment(program, plan, simulate(program, plan, hardware));
    TierBill& to = bill.tiers[index(tier)];
    BytesByName bytes = homes[index(tier)];
    add_kinds(program, moments[at][index(tier)], bytes);
    to.budget_bytes = plan.budgets.of(tier);
    to.lines = largest_first(bytes, homes);
    // In the order of its decisions a plan may hold less than in the order of time.
    to.peak_bytes = std::max(plan.peak_bytes[index(tier)], to.named_bytes());
    for (const Planned& planned : programs)
      to.reserved_bytes = std::max(to.reserved_bytes, planned.plan->span_bytes[index(tier)]);
    EBBTIDE_CHECK(to.peak_bytes <= to.reserved_bytes,
                  fmt::format("{}: a peak of {} bytes, {} reserved", name(tier), to.peak_bytes,
                              to.reserved_bytes));
  }
  std::uint64_t plans = 0;
  for (const Planned& planned : programs)
    plans += planned.plan->memory_bytes() + planned.program->memory_bytes();
  bill.add_constant("programs and plans", plans);
  bill.add_constant("timeline", timeline_bytes(programs));
  return bill;
}

std::string text(const MemoryBill& bill, BillDetail detail) {
  std::string out = "memory bill\n";
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme})
    append_tier(out, tier, bill.tiers[index(tier)], detail);
  out += fmt::format("  {:<11} {:>12} beside the tiers\n", "constant",
                     bytes_text(bill.constant_bytes()));
  for (const BillLine& line : bill.constant) append_line(out, 4, line.category, line.bytes);
  if (bill.smallest_device_bytes > 0)
    out += fmt::format("  smallest --device-memory that fits: {} ({} bytes)\n",
                       bytes_text(bill.smallest_device_bytes), bill.smallest_device_bytes);
  return out;
}

}  // namespace ebbtide::report
