#include "src/plan/target.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ebbtide/error.hpp"
#include "src/hardware/rank_view.hpp"
#include "src/report/units.hpp"
#include "src/train/budgets.hpp"
#include "src/train/resolve_options.hpp"

namespace ebbtide::plan {
namespace {

using report::bytes_text;

constexpr std::uint64_t kDriveMarginShare = 20;  // as `train` leaves free of its directories

// `bench` writes one figure for both where the CPU is the device.
bool device_is_host_memory(const hardware::Machine& machine) {
  return machine.device.memory_bytes_per_s == machine.host.memory_bytes_per_s;
}

std::uint64_t page_floor(std::uint64_t bytes) {
  return bytes / kPageAlignment * kPageAlignment;
}

std::uint64_t less(std::uint64_t bytes, std::uint64_t margin) {
  return page_floor(bytes > margin ? bytes - margin : 0);
}

PerTier<BudgetSource> sources_of(const train::MemoryOptions& memory) {
  const auto source = [](const std::optional<std::uint64_t>& given) {
    return given ? BudgetSource::kGiven : BudgetSource::kMachine;
  };
  return {source(memory.device_bytes), source(memory.host_bytes), source(memory.nvme_bytes)};
}

// What the machine at hand leaves to what is not given. Sizes that it does not have say nothing
// about the rest.
Budgets budgets_here(const train::MemoryOptions& memory) {
  train::MemoryOptions asked = memory;
  if (asked.nvme_bytes) asked.nvme_paths.clear();  // then directories say nothing
  const train::MachineLimits limits = train::machine_limits(asked);
  try {
    return train::resolve_budgets(asked, limits);
  } catch (const Error& error) {
    if (error.code() != make_error_code(Errc::kDoesNotFit)) throw;
    asked.device_bytes.reset();
    asked.host_bytes.reset();
    return train::resolve_budgets(asked, limits);
  }
}

}  // namespace

Target target_of(const hardware::Machine& machine, const train::TrainOptions& options,
                 std::uint64_t ranks) {
  Target target;
  target.name = machine.name;
  target.rates =
      train::paced(hardware::hardware_of(machine, options.run.dtype, ranks), options.transfer);
  target.ranks = ranks;
  target.ranks_on_node = hardware::ranks_on_node(machine, ranks);
  target.flops_per_s = hardware::peak_flops_per_s(machine.device, options.run.dtype);
  const train::MemoryOptions& memory = options.memory;
  const std::uint64_t on_node = target.ranks_on_node;
  // A file of `bench` states memory less a margin.
  const bool is_card = !device_is_host_memory(machine);
  const std::uint64_t card_margin = is_card ? kCardMarginBytes : 0;
  const std::uint64_t host_margin =
      is_card ? train::memory_margin(machine.host.memory_bytes) / on_node : 0;
  const Budgets all = hardware::budgets_of(machine, ranks);
  target.budgets = {
      .device_bytes = memory.device_bytes.value_or(less(all.device_bytes, card_margin)),
      .host_bytes = memory.host_bytes ? page_floor(*memory.host_bytes / on_node)
                                      : less(all.host_bytes, host_margin),
      .nvme_bytes = memory.nvme_bytes ? page_floor(*memory.nvme_bytes / on_node)
                                      : less(all.nvme_bytes, all.nvme_bytes / kDriveMarginShare)};
  target.sources = sources_of(memory);
  target.available = {memory.device_bytes ? target.budgets.device_bytes : all.device_bytes,
                      memory.host_bytes ? target.budgets.host_bytes : all.host_bytes,
                      memory.nvme_bytes ? target.budgets.nvme_bytes : all.nvme_bytes};
  return target;
}

Target this_machine(const train::TrainOptions& options) {
  Target target;
  target.rates = train::paced(generic_cpu_hardware(), options.transfer);
  target.name = "this machine, at the speeds of a " + target.rates.name;
  target.flops_per_s = target.rates.device_flops_per_s;
  target.flops = FlopRate::kSustained;
  const Budgets here = budgets_here(options.memory);
  target.budgets = {.device_bytes = options.memory.device_bytes.value_or(here.device_bytes),
                    .host_bytes = options.memory.host_bytes.value_or(here.host_bytes),
                    .nvme_bytes = options.memory.nvme_bytes.value_or(here.nvme_bytes)};
  target.available = target.budgets;
  target.sources = sources_of(options.memory);
  return target;
}

std::string text(const Target& target) {
  std::string out = target.ranks == 1 ? std::string("budgets\n")
                                      : fmt::format("budgets of each of {} ranks, {} on a node\n",
                                                    target.ranks, target.ranks_on_node);
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
    const std::uint64_t budget = target.budgets.of(tier);
    const std::uint64_t left = target.available.of(tier) - budget;
    out += fmt::format("  {:<8}{:>12}", name(tier), bytes_text(budget));
    if (target.sources[index(tier)] == BudgetSource::kGiven)
      out += fmt::format(", as --{}-memory says", name(tier));
    else if (left > 0)
      out += fmt::format(": {} less a margin of {}{}", bytes_text(target.available.of(tier)),
                         bytes_text(left),
                         tier == Tier::kDevice ? " for context, libraries and driver" : "");
    out += "\n";
  }
  return out;
}

}  // namespace ebbtide::plan
