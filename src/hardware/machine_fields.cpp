#include "src/hardware/machine_fields.hpp"

namespace ebbtide::hardware {
namespace {

constexpr auto kRequired = Presence::kRequired;

void rate(FieldVisitor& visitor, std::string_view key, double& bytes_per_s) {
  visitor.quantity(key, bytes_per_s, Dimension::kBytesPerSecond, Least::kAboveZero);
}

void latency(FieldVisitor& visitor, std::string_view key, double& seconds) {
  visitor.quantity(key, seconds, Dimension::kSeconds, Least::kZero);
}

void flop_rate(FieldVisitor& visitor, std::string_view key, double& flops_per_s) {
  visitor.quantity(key, flops_per_s, Dimension::kFlopsPerSecond, Least::kAboveZero);
}

void visit(FieldVisitor& visitor, std::string_view key, Efficiency& efficiency, Dimension work) {
  visitor.enter(key, kRequired, true);
  visitor.fraction("peak_fraction", efficiency.peak_fraction);
  visitor.quantity("half", efficiency.half, work, Least::kZero);
  visitor.leave();
}

void visit(FieldVisitor& visitor, Device& device) {
  visitor.enter("device", kRequired, true);
  visitor.text("name", device.name);
  visitor.size("memory", device.memory_bytes, kRequired);
  rate(visitor, "memory_bandwidth", device.memory_bytes_per_s);
  latency(visitor, "op_overhead", device.op_overhead_s);
  visitor.enter("peak", kRequired, true);
  flop_rate(visitor, "bf16", device.peak_bf16_flops_per_s);
  flop_rate(visitor, "fp32", device.peak_fp32_flops_per_s);
  visitor.leave();
  visitor.enter("efficiency", kRequired, true);
  visit(visitor, "matmul", device.matmul, Dimension::kFlops);
  visit(visitor, "attention", device.attention, Dimension::kFlops);
  visit(visitor, "elementwise", device.elementwise, Dimension::kBytes);
  visitor.leave();
  visitor.leave();
}

void visit(FieldVisitor& visitor, Link& link) {
  visitor.enter("link", kRequired, true);
  rate(visitor, "alone", link.alone_bytes_per_s);
  rate(visitor, "both_ways", link.both_ways_bytes_per_s);
  rate(visitor, "all_cards", link.all_cards_bytes_per_s);
  latency(visitor, "latency", link.latency_s);
  visitor.leave();
}

void visit(FieldVisitor& visitor, Peer& peer) {
  visitor.enter("peer", kRequired, true);
  visitor.path("path", peer.path);
  if (peer.path == PeerPath::kDirect) {
    rate(visitor, "bandwidth", peer.bytes_per_s);
    latency(visitor, "latency", peer.latency_s);
  }
  visitor.leave();
}

void visit(FieldVisitor& visitor, Host& host) {
  visitor.enter("host", kRequired, true);
  visitor.size("memory", host.memory_bytes, kRequired);
  rate(visitor, "memory_bandwidth", host.memory_bytes_per_s);
  flop_rate(visitor, "fp32", host.flops_per_s);
  visitor.leave();
}

void visit(FieldVisitor& visitor, Nvme& nvme) {
  visitor.enter("nvme", kRequired, true);
  visitor.count("drives", nvme.drives);
  visitor.size("capacity", nvme.capacity_bytes, kRequired);
  rate(visitor, "read", nvme.read_bytes_per_s);
  rate(visitor, "write", nvme.write_bytes_per_s);
  latency(visitor, "latency", nvme.latency_s);
  latency(visitor, "latency_p99", nvme.latency_p99_s);
  visitor.size("endurance", nvme.endurance_bytes, Presence::kOptional);
  visitor.leave();
}

void visit(FieldVisitor& visitor, std::optional<Network>& network) {
  if (!visitor.enter("network", Presence::kOptional, network.has_value())) return;
  if (!network) network.emplace();
  rate(visitor, "bandwidth", network->bytes_per_s);
  latency(visitor, "latency", network->latency_s);
  visitor.leave();
}

}  // namespace

void visit_fields(FieldVisitor& visitor, Machine& machine) {
  visitor.text("name", machine.name);
  visitor.count("ranks_per_node", machine.ranks_per_node);
  visit(visitor, machine.device);
  visit(visitor, machine.link);
  visit(visitor, machine.peer);
  visit(visitor, machine.host);
  visit(visitor, machine.nvme);
  visit(visitor, machine.network);
}

}  // namespace ebbtide::hardware
