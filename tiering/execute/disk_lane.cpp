#include "tiering/execute/disk_lane.hpp"

#include <algorithm>
#include <limits>

namespace ebbtide::execute {
namespace {

constexpr tiers::JobId kJobNow = std::numeric_limits<tiers::JobId>::max();

}  // namespace

DiskLane::DiskLane(Lane lane, Step& step, const MakeIoQueue& make_queue)
    : LaneWalker(lane, step),
      direction_(lane == Lane::kNvmeWrite ? tiers::IoDirection::kWrite : tiers::IoDirection::kRead),
      queue_(make_queue(
          [this](tiers::JobId job, const tiers::IoResult& result) { completed(job, result); })) {}

void DiskLane::prepare() {
  width_ = std::max(1U, step_.plan->width[index(lane_)]);
  has_finished_.assign(width_, 0);
  prefix_ = 0;
  std::size_t most = requests_.size();
  for (const Task& task : tasks()) most = std::max<std::size_t>(most, task.count);
  requests_.resize(most);
  // a job may still be held by the queue when the one that its completion lets go is submitted
  queue_->reserve(2 * std::size_t{width_}, most);
}

void DiskLane::walk_tasks() {
  try {
    submit_tasks();
  } catch (...) {
    queue_->drain();
    throw;
  }
  // also after an abort: nothing is in flight when the lane rests
  queue_->drain();
}

void DiskLane::submit_tasks() {
  const auto count = static_cast<std::uint32_t>(tasks().size());
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!await_all(tasks()[i])) return;
    if (i >= width_ && !step_.progress.await(lane_, lane_, i + 1 - width_)) return;
    poison(step_, lane_, i, Moment::kBefore);
    submit(i);
  }
}

void DiskLane::submit(std::uint32_t task) {
  const std::span<const Segment> segments = step_.plan->segments_of(tasks()[task]);
  const Route ends = route(lane_);
  const bool writes = direction_ == tiers::IoDirection::kWrite;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    // whole pages: what lies behind the value's end belongs to it in both tiers
    const std::uint64_t bytes = extent(value_bytes(segments[i].value), Tier::kNvme);
    const std::uint64_t in_memory = writes ? segments[i].from : segments[i].to;
    const std::uint64_t on_disk = writes ? segments[i].to : segments[i].from;
    touch(Tier::kNvme, on_disk, bytes);
    requests_[i] = {on_disk, touch_memory(writes ? ends.from : ends.to, in_memory, bytes), bytes};
    record_.moved_bytes += bytes;
  }
  interval(task).start_s = step_.now_s();
  queue_->submit(task, direction_, std::span(requests_).first(segments.size()));
}

void DiskLane::completed(tiers::JobId job, const tiers::IoResult& result) noexcept {
  const std::scoped_lock lock(mutex_);
  if (job == kJobNow) {
    result_now_ = result;
  } else if (result.error) {
    step_.failure.keep(direction_, result);
    step_.progress.abort();
  } else {
    finish(static_cast<std::uint32_t>(job));
  }
}

void DiskLane::finish(std::uint32_t task) {
  interval(task).end_s = step_.now_s();
  poison(step_, lane_, task, Moment::kAfter);
  has_finished_[task % width_] = 1;
  const std::uint32_t before = prefix_;
  while (has_finished_[prefix_ % width_] != 0) has_finished_[prefix_++ % width_] = 0;
  if (prefix_ != before) step_.progress.finish(lane_, prefix_);
}

void DiskLane::transfer_now(const tiers::IoRequest& request) {
  result_now_ = {};
  queue_->submit(kJobNow, direction_, std::span(&request, 1));
  queue_->drain();
  const std::scoped_lock lock(mutex_);
  if (result_now_.error) throw tiers::io_error(direction_, result_now_);
}

}  // namespace ebbtide::execute
