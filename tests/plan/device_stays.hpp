// What a program leaves open about traffic between the device and the host, whoever plans it.
//
// The rules, which every plan that verify() takes obeys:
//  1. Operands of a device op are on the device while it runs; values take extent() bytes there.
//  2. A value whose home is the device is there throughout, and so are other programs' homes.
//  3. A write or an update makes a new version; all copies of the old one are stale.
//  4. A version travels up whenever a device op reads it and it is not there.
//  5. A version made on the device travels down once at least if it is ever to travel up, if a host
//     op reads it or if it is the last one of a value with a home below; with a copy below it is
//     dropped free of charge.
// So the only choice is, for each **stay** (between two neighbouring uses of one version by device
// ops, of which the later one reads), whether the value stays on the device throughout; being there
// for a part of it would save nothing. The traffic of a plan is `unavoidable_bytes` + the loads of
// the stays not kept + one store for each entry of `stores` with a stay that is not kept. It is the
// least if transfers took no time and free bytes always made a hole.
#pragma once

#include <cstdint>
#include <vector>

#include "ebbtide/program.hpp"

namespace ebbtide::plan_test {

struct Stay {
  // It takes room at steps (from, to); at both ends the value is an operand. Steps count device
  // ops alone, since nothing comes to the device between two of them that is not needed later.
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  ValueId value = 0;
  std::uint32_t store = kNoStore;  // into DeviceStays::stores; kNoStore: with a copy below
  bool optional = true;            // false: the value may never leave the device

  static constexpr std::uint32_t kNoStore = ~0U;
};

struct DeviceStays {
  std::vector<Stay> stays;            // by `to`; none of neighbouring steps, which take no room
  std::vector<std::uint64_t> stores;  // bytes of versions that travel down only if they leave
  std::vector<std::uint64_t> operand_bytes;  // by step, device homes not counted
  std::uint64_t home_bytes = 0;              // of the device
  std::uint64_t unavoidable_bytes = 0;
};

DeviceStays device_stays(const Program& program);

}  // namespace ebbtide::plan_test
