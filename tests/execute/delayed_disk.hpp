// What tests do to single transfers of the disk.
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>

#include "tiering/tiers/io_faults.hpp"

namespace ebbtide::test {

// Every transfer of one direction is late, or fails.
class DelayedDisk final : public tiers::IoFaults {
 public:
  DelayedDisk(tiers::IoDirection which, tiers::IoFault fault) : which_(which), fault_(fault) {}

  tiers::IoFault on_transfer(const tiers::KernelTransfer& transfer) override {
    if (transfer.direction != which_ || !on_) return {};
    ++hits_;
    return fault_;
  }
  void set(bool on) { on_ = on; }
  int hits() const { return hits_; }

 private:
  const tiers::IoDirection which_;
  const tiers::IoFault fault_;
  std::atomic<bool> on_{true};
  std::atomic<int> hits_{0};
};

}  // namespace ebbtide::test
