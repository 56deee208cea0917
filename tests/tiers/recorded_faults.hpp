// Faults by a function of the transfer and its number, with a record of all transfers.
#pragma once

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "tiering/tiers/io_faults.hpp"

namespace ebbtide::tiers {

class RecordedFaults final : public IoFaults {
 public:
  using Choose = std::function<IoFault(const KernelTransfer&, std::size_t number)>;

  RecordedFaults() = default;
  explicit RecordedFaults(Choose choose) : choose_(std::move(choose)) {}

  IoFault on_transfer(const KernelTransfer& transfer) override {
    const std::lock_guard lock(mutex_);
    transfers_.push_back(transfer);
    return choose_ ? choose_(transfer, transfers_.size()) : IoFault{};
  }

  std::vector<KernelTransfer> transfers() const {
    const std::lock_guard lock(mutex_);
    return transfers_;
  }

 private:
  Choose choose_;
  mutable std::mutex mutex_;
  std::vector<KernelTransfer> transfers_;
};

}  // namespace ebbtide::tiers
