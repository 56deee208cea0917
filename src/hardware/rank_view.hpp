// What one rank gets of a machine, as planner and simulator see it. Pure functions.
//
// Ranks are spread over as few nodes as hold them, one a device, and all work alike at once. Of a
// node with n ranks a rank gets
//
//   d2h, h2d      the rate of a link that copies both ways; with more than one rank no more than
//                 the n-th part of what the node's links carry when all of its cards copy
//   NVMe, DRAM    the n-th part of rates, bytes and endurance
//   host compute  the n-th part
//
// and where links and drives at these rates would move more than the rank's part of DRAM's
// bandwidth, all four transfer rates are scaled down until they do not: each of their bytes crosses
// DRAM once. The optimizer shares it too: host_memory_bytes_per_s is what it gets while transfers
// rest.
//
// A collective goes over each path between ranks, so the slowest binds: between devices, or, where
// cards have no peer-to-peer, over both directions of the link and twice across DRAM; and between
// nodes over the n-th part of the node's network.
#pragma once

#include "ebbtide/hardware.hpp"
#include "ebbtide/plan.hpp"
#include "src/hardware/machine.hpp"

namespace ebbtide::hardware {

// Ranks on each of the nodes that `ranks` fill. Throws as hardware_of.
std::uint64_t ranks_on_node(const Machine& machine, std::uint64_t ranks);

// The peak of one device in `dtype`, flops a second. Requires kF32 or kBf16.
double peak_flops_per_s(const Device& device, DType dtype);

// The rates that a rank of `ranks` sees. device_flops_per_s is what large products reach in
// `dtype`; smaller ops and other classes are in class_rates.
// Requires kF32 or kBf16. Throws Error(kBadUsage) if ranks is 0, or does not fill its nodes, or
// needs more than one node of a machine without a network.
HardwareModel hardware_of(const Machine& machine, DType dtype, std::uint64_t ranks);

// The bytes that a rank has of each tier: all there is, without a margin for what else runs.
// Throws as hardware_of.
Budgets budgets_of(const Machine& machine, std::uint64_t ranks);

}  // namespace ebbtide::hardware
