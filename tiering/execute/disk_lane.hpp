// A lane between the host arena and the swap files: as many tasks in flight as its width allows.
//
// Its thread submits task i once i's waits are met and the first i + 1 - width tasks have finished;
// completions, in any order, are told on threads of the queue, which advance the finished prefix.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tiering/execute/lane.hpp"
#include "tiering/tiers/io_queue.hpp"

namespace ebbtide::execute {

using MakeIoQueue = std::function<std::unique_ptr<tiers::IoQueue>(tiers::OnComplete)>;

class DiskLane final : public LaneWalker {
 public:
  // `lane` is kNvmeWrite or kNvmeRead.
  DiskLane(Lane lane, Step& step, const MakeIoQueue& make_queue);

  void prepare() override;
  const tiers::IoQueue& queue() const { return *queue_; }
  // Moves bytes outside of any step. Blocks. Throws Error. Requires the lane at rest.
  void transfer_now(const tiers::IoRequest& request);

 private:
  void walk_tasks() override;
  void submit_tasks();
  void submit(std::uint32_t task);
  void completed(tiers::JobId job, const tiers::IoResult& result) noexcept;
  void finish(std::uint32_t task);

  const tiers::IoDirection direction_;
  std::uint32_t width_ = 1;                 // constant during a walk
  std::vector<tiers::IoRequest> requests_;  // the lane's thread

  std::mutex mutex_;                        // guards what follows, between threads of the queue
  std::vector<std::uint8_t> has_finished_;  // by task % width_, of tasks from prefix_ on
  std::uint32_t prefix_ = 0;
  tiers::IoResult result_now_;  // of transfer_now()

  std::unique_ptr<tiers::IoQueue> queue_;  // last: dies, drained, before what completions use
};

}  // namespace ebbtide::execute
