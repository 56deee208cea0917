#include "src/hardware/rank_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ebbtide/error.hpp"

namespace ebbtide::hardware {
namespace {

void set_device(HardwareModel& model, const Device& device, DType dtype) {
  const double peak = peak_flops_per_s(device, dtype);
  const auto rate = [](double of, const Efficiency& efficiency) {
    return WorkRate{of * efficiency.peak_fraction, efficiency.half};
  };
  const WorkRate matmul = rate(peak, device.matmul);
  const WorkRate elementwise = rate(device.memory_bytes_per_s, device.elementwise);
  model.class_rates = {matmul, rate(peak, device.attention), elementwise};
  model.device_flops_per_s = matmul.per_s;
  model.device_memory_bytes_per_s = elementwise.per_s;
  model.op_overhead_s = device.op_overhead_s;
}

// What one direction of the rank's link carries, of what a single card reaches; several cards share
// what all of them get together.
double link_bytes_per_s(const Machine& machine, double of_one_card, double on_node) {
  const double all_links =
      machine.link.all_cards_bytes_per_s * static_cast<double>(machine.ranks_per_node);
  return std::min(of_one_card, all_links / on_node);
}

SharedRates shared_rates(const Machine& machine, double on_node) {
  const Nvme& nvme = machine.nvme;
  const double drives = static_cast<double>(nvme.drives) / on_node;
  return {.link_bytes_per_s = link_bytes_per_s(machine, machine.link.alone_bytes_per_s, on_node),
          .link_both_ways_bytes_per_s =
              link_bytes_per_s(machine, machine.link.both_ways_bytes_per_s, on_node),
          .nvme_read_bytes_per_s = nvme.read_bytes_per_s * drives,
          .nvme_write_bytes_per_s = nvme.write_bytes_per_s * drives};
}

// Link and drives, within the rank's part of DRAM's bandwidth.
void set_transfers(HardwareModel& model, const Machine& machine, double on_node) {
  const SharedRates& shared = model.shared = shared_rates(machine, on_node);
  model.d2h = model.h2d = {shared.link_both_ways_bytes_per_s, machine.link.latency_s};
  model.nvme_read = {shared.nvme_read_bytes_per_s, machine.nvme.latency_s};
  model.nvme_write = {shared.nvme_write_bytes_per_s, machine.nvme.latency_s};
  model.nvme_latency_p99_s = machine.nvme.latency_p99_s;
  const auto rates = {&model.d2h, &model.h2d, &model.nvme_read, &model.nvme_write};
  double dram_bytes_per_s = 0;
  for (const Rate* rate : rates) dram_bytes_per_s += rate->bytes_per_s;
  const double scale = std::min(1.0, model.host_memory_bytes_per_s / dram_bytes_per_s);
  for (Rate* rate : rates) rate->bytes_per_s *= scale;
}

// Requires the model's transfers.
Rate collective_of(const HardwareModel& model, const Machine& machine, double on_node,
                   bool between_nodes) {
  const Peer& peer = machine.peer;
  const double dram_crossings = 2;
  Rate rate{peer.bytes_per_s, peer.latency_s};
  if (peer.path == PeerPath::kThroughHost)
    rate = {std::min(model.shared.link_both_ways_bytes_per_s,
                     model.host_memory_bytes_per_s / dram_crossings),
            2 * machine.link.latency_s};
  if (!between_nodes) return rate;
  return {std::min(rate.bytes_per_s, machine.network->bytes_per_s / on_node),
          std::max(rate.latency_s, machine.network->latency_s)};
}

}  // namespace

std::uint64_t ranks_on_node(const Machine& machine, std::uint64_t ranks) {
  const std::uint64_t most = machine.ranks_per_node;
  if (ranks == 0) throw Error(Errc::kBadUsage, "0 ranks: there must be one at least");
  if (ranks <= most) return ranks;
  if (!machine.network)
    throw Error(Errc::kBadUsage,
                fmt::format("{} ranks on '{}': it has {} and no network to another such node",
                            ranks, machine.name, most));
  if (ranks % most != 0)
    throw Error(Errc::kBadUsage,
                fmt::format("{} ranks on '{}': past one node they must be a multiple of its {}",
                            ranks, machine.name, most));
  return most;
}

double peak_flops_per_s(const Device& device, DType dtype) {
  EBBTIDE_CHECK(dtype == DType::kF32 || dtype == DType::kBf16, std::string(name(dtype)));
  return dtype == DType::kBf16 ? device.peak_bf16_flops_per_s : device.peak_fp32_flops_per_s;
}

HardwareModel hardware_of(const Machine& machine, DType dtype, std::uint64_t ranks) {
  const auto on_node = static_cast<double>(ranks_on_node(machine, ranks));
  HardwareModel model;
  model.name = machine.name;
  set_device(model, machine.device, dtype);
  model.host_flops_per_s = machine.host.flops_per_s / on_node;
  model.host_memory_bytes_per_s = machine.host.memory_bytes_per_s / on_node;
  set_transfers(model, machine, on_node);
  model.nvme_endurance_bytes =
      static_cast<double>(machine.nvme.endurance_bytes * machine.nvme.drives) / on_node;
  model.peer_path = machine.peer.path;
  model.collective = collective_of(model, machine, on_node, ranks > machine.ranks_per_node);
  return model;
}

Budgets budgets_of(const Machine& machine, std::uint64_t ranks) {
  const std::uint64_t on_node = ranks_on_node(machine, ranks);
  return {.device_bytes = machine.device.memory_bytes,
          .host_bytes = machine.host.memory_bytes / on_node,
          .nvme_bytes = machine.nvme.capacity_bytes * machine.nvme.drives / on_node};
}

}  // namespace ebbtide::hardware
