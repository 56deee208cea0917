#include "src/plan/compare.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "src/report/units.hpp"

namespace ebbtide::plan {
namespace {

constexpr double kGibibyte = 1 << 30;
constexpr std::array kParts{Part::kWeights,     Part::kGradients, Part::kOptimizer,
                            Part::kActivations, Part::kLogits,    Part::kBuffers};

std::string gibibytes(double bytes) {
  const double amount = bytes / kGibibyte;
  return amount < 1e5 ? fmt::format("{:>9.1f}", amount) : fmt::format("{:>9.1e}", amount);
}

struct Sums {
  double device_bytes = 0;
  double host_bytes = 0;
  double sequence_seconds = 0;
};

std::string row(const std::string& name, const std::array<double, kPartCount>& parts,
                const Sums& sums, std::string_view verdict) {
  std::string line = fmt::format("  {:<39}", name);
  for (const double bytes : parts) line += gibibytes(bytes);
  return line + gibibytes(sums.device_bytes) + gibibytes(sums.host_bytes) +
         fmt::format("{:>9.3g}  {}\n", sums.sequence_seconds, verdict);
}

std::string_view verdict(const StrategyBill& bill, const Budgets& budgets) {
  if (bill.fits(budgets)) return "fits";
  return bill.device_bytes() > static_cast<double>(budgets.device_bytes) ? "device is too small"
                                                                         : "host is too small";
}

double sequence_seconds(const StrategyBill& bill, const PlannedRun& run) {
  const StrategyCase of = strategy_case(run);
  return compute_seconds(sequence_work(of.config, of.tokens, bill.recompute),
                         compute_speed(run.target.rates), of.ranks);
}

std::string row(const StrategyBill& bill, const PlannedRun& run) {
  std::array<double, kPartCount> parts{};
  for (const Part part : kParts) parts[static_cast<std::size_t>(part)] = bill.device_bytes(part);
  return row(bill.name, parts,
             {bill.device_bytes(), bill.host_bytes(), sequence_seconds(bill, run)},
             verdict(bill, run.target.budgets));
}

Part part_of(std::string_view category) {
  if (category == "weights") return Part::kWeights;
  if (category == "gradients") return Part::kGradients;
  if (category == "optimizer state") return Part::kOptimizer;
  if (category == "workspace") return Part::kLogits;
  return category == "data" ? Part::kBuffers : Part::kActivations;
}

// What is reserved, so that room that nothing is in is counted too.
std::string row(const OwnRow& own) {
  const report::MemoryBill& bill = own.bill;
  const report::TierBill& device = bill.tiers[index(Tier::kDevice)];
  std::array<double, kPartCount> parts{};
  for (const report::BillLine& line : device.lines)
    parts[static_cast<std::size_t>(part_of(line.category))] += static_cast<double>(line.bytes);
  parts[static_cast<std::size_t>(Part::kBuffers)] +=
      static_cast<double>(device.held_bytes() + device.fragmentation_bytes());
  const std::uint64_t on_drives = bill.tiers[index(Tier::kNvme)].reserved_bytes;
  const std::string verdict =
      on_drives > 0 ? fmt::format("fits, {} on NVMe", report::bytes_text(on_drives)) : "fits";
  return row(
      "Ebbtide", parts,
      {static_cast<double>(device.reserved_bytes),
       static_cast<double>(bill.tiers[index(Tier::kHost)].reserved_bytes), own.sequence_seconds},
      verdict);
}

std::string whole_model_text(const StrategyCase& of) {
  std::string out = fmt::format("the whole model, with everything kept: {:.4g} parameters\n",
                                parameter_counts(of.config).all);
  const StrategyBill bill = whole_model(of);
  for (const Amount& amount : bill.amounts)
    out += fmt::format("  {:<15}  {:<22}{:>12}\n", name(amount.part), amount.name,
                       report::bytes_text(static_cast<std::uint64_t>(amount.device_bytes)));
  return out;
}

}  // namespace

StrategyCase strategy_case(const PlannedRun& run) {
  return {.config = run.config,
          .tokens = static_cast<double>(run.shape.seq_len),
          .dtype = run.shape.dtype,
          .ranks = static_cast<double>(run.target.ranks)};
}

std::string compare_text(const PlannedRun& run, const std::optional<OwnRow>& own) {
  const StrategyCase of = strategy_case(run);
  std::string out = whole_model_text(of);
  out += fmt::format(
      "strategies, GiB a rank at {} in all, and seconds that a sequence computes, at the machine's "
      "efficiencies;\nlower bounds in closed form, but the last row, which is planned\n"
      "  {:<39}",
      run.target.ranks, "device");
  for (const char* part : {"weights", "grads", "optim.", "activ.", "logits", "buffers"})
    out += fmt::format("{:>9}", part);
  out += fmt::format("{:>9}{:>9}{:>9}\n", "in all", "host", "seconds");
  for (const StrategyBill& strategy : strategies(of)) out += row(strategy, run);
  if (own) return out + row(*own);
  return out + "  Ebbtide does not fit\n";
}

Json strategies_json(const PlannedRun& run) {
  Json all = Json::array();
  for (const StrategyBill& bill : strategies(strategy_case(run))) {
    Json amounts = Json::array();
    for (const Amount& amount : bill.amounts)
      amounts.push_back({{"part", std::string(name(amount.part))},
                         {"name", amount.name},
                         {"device_bytes", amount.device_bytes},
                         {"host_bytes", amount.host_bytes}});
    all.push_back({{"name", bill.name},
                   {"device_bytes", bill.device_bytes()},
                   {"host_bytes", bill.host_bytes()},
                   {"sequence_compute_seconds", sequence_seconds(bill, run)},
                   {"fits", bill.fits(run.target.budgets)},
                   {"amounts", amounts}});
  }
  return all;
}

}  // namespace ebbtide::plan
