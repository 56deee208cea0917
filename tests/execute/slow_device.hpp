// A device that takes its time, or fails, lane by lane: the seam for ordering and error tests.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "ebbtide/device.hpp"

namespace ebbtide::test {

class SlowDevice final : public Device {
 public:
  // `before_copy` is called on the copy lane, before any byte moves; it may sleep or throw.
  SlowDevice(std::unique_ptr<Device> inner, std::function<void(Lane)> before_copy)
      : inner_(std::move(inner)), before_copy_(std::move(before_copy)) {}

  std::string name() const override { return "slow " + inner_->name(); }
  std::span<std::byte> arena() override { return inner_->arena(); }
  void copy(Lane lane, std::span<const CopySegment> segments) override {
    if (before_copy_) before_copy_(lane);
    inner_->copy(lane, segments);
  }
  void move(const CopySegment& segment) override { inner_->move(segment); }
  void* stream(Lane lane) override { return inner_->stream(lane); }

 private:
  std::unique_ptr<Device> inner_;
  std::function<void(Lane)> before_copy_;
};

inline std::function<void(Lane)> delay(Lane which, std::chrono::milliseconds by) {
  return [=](Lane lane) {
    if (lane == which) std::this_thread::sleep_for(by);
  };
}

}  // namespace ebbtide::test
