// A machine to plan for, as a hardware file describes it: plain data, each figure once, in bytes,
// flops, seconds and their quotients. Rates of a device or a drive are those of one; rates of the
// host and the network are those of one node. docs/hardware.md says what each means, key by key;
// rank_view.hpp derives what one rank gets of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ebbtide/hardware.hpp"

namespace ebbtide::hardware {

// How near to its peak the device comes on an op with `work` to do:
//   rate = peak * peak_fraction * work / (work + half)
// so that an op of `half` runs at half of what large ones reach. Work is counted in flops for
// products and attention, in bytes for elementwise ops.
struct Efficiency {
  double peak_fraction = 0;  // in (0, 1]
  double half = 0;

  bool operator==(const Efficiency&) const = default;
};

struct Device {
  std::string name;
  std::uint64_t memory_bytes = 0;
  double memory_bytes_per_s = 0;     // peak
  double op_overhead_s = 0;          // launch and dispatch of one op
  double peak_bf16_flops_per_s = 0;  // dense, accumulated in fp32
  double peak_fp32_flops_per_s = 0;
  Efficiency matmul;
  Efficiency attention;
  Efficiency elementwise;  // of the memory's peak

  bool operator==(const Device&) const = default;
};

// Between one device and host memory; each rate is of one direction.
struct Link {
  double alone_bytes_per_s = 0;      // one card copies in one direction, nothing else moves
  double both_ways_bytes_per_s = 0;  // one card copies in both directions
  double all_cards_bytes_per_s = 0;  // every card of the node copies in both directions
  double latency_s = 0;

  bool operator==(const Link&) const = default;
};

// Between devices of one node.
struct Peer {
  PeerPath path = PeerPath::kDirect;
  // Of one device, in each direction, while all of them send; only where the path is direct.
  double bytes_per_s = 0;
  double latency_s = 0;

  bool operator==(const Peer&) const = default;
};

struct Host {
  std::uint64_t memory_bytes = 0;
  double memory_bytes_per_s = 0;  // sustained, shared by links, drives and the optimizer
  double flops_per_s = 0;         // sustained, fp32

  bool operator==(const Host&) const = default;
};

// `drives` alike; the rest is of one of them.
struct Nvme {
  std::uint64_t drives = 1;
  std::uint64_t capacity_bytes = 0;
  double read_bytes_per_s = 0;
  double write_bytes_per_s = 0;
  double latency_s = 0;               // of a read, median
  double latency_p99_s = 0;           // 99th percentile: the least that a prefetch must allow for
  std::uint64_t endurance_bytes = 0;  // rated bytes written over its life; 0 if unknown

  bool operator==(const Nvme&) const = default;
};

// Out of one node, in each direction.
struct Network {
  double bytes_per_s = 0;
  double latency_s = 0;

  bool operator==(const Network&) const = default;
};

struct Machine {
  std::string name;
  std::uint64_t ranks_per_node = 1;  // one rank a device
  Device device;
  Link link;
  Peer peer;
  Host host;
  Nvme nvme;
  std::optional<Network> network;  // none: the machine is one node

  bool operator==(const Machine&) const = default;
};

}  // namespace ebbtide::hardware
