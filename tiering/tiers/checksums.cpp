#include "tiering/tiers/checksums.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <utility>
#include <vector>

namespace ebbtide::tiers {
namespace {

class CheckedQueue final : public IoQueue {
 public:
  CheckedQueue(const SwapFiles& files, Checksums& checksums, OnComplete on_complete,
               const std::function<std::unique_ptr<IoQueue>(OnComplete)>& make_inner)
      : files_(files),
        checksums_(checksums),
        on_complete_(std::move(on_complete)),
        inner_(make_inner([this](JobId job, const IoResult& result) { complete(job, result); })) {}

  void submit(JobId job, IoDirection direction, std::span<const IoRequest> requests) override;
  // The sums themselves are kept by block and allocate as they come.
  void reserve(std::size_t jobs, std::size_t requests) override { inner_->reserve(jobs, requests); }
  void drain() override { inner_->drain(); }
  std::string engine_name() const override { return inner_->engine_name(); }
  const std::vector<std::string>& warnings() const override { return inner_->warnings(); }

 private:
  struct Pending {
    IoDirection direction = IoDirection::kRead;
    std::vector<IoRequest> requests;
    std::vector<std::uint64_t> sums;  // of writes, by request
  };

  Pending take(JobId job);
  void complete(JobId job, const IoResult& result);
  IoResult check(const Pending& pending);

  const SwapFiles& files_;
  Checksums& checksums_;
  const OnComplete on_complete_;
  std::mutex mutex_;
  std::multimap<JobId, Pending> pending_;  // guarded by mutex_; ids may repeat
  std::unique_ptr<IoQueue> inner_;         // last: it completes jobs until it is gone
};

void CheckedQueue::submit(JobId job, IoDirection direction, std::span<const IoRequest> requests) {
  for (const IoRequest& request : requests) check_request(files_, request);
  Pending pending{direction, {requests.begin(), requests.end()}, {}};
  if (direction == IoDirection::kWrite) {
    for (const IoRequest& request : requests) {
      checksums_.forget(request);
      pending.sums.push_back(Checksums::sum(request));
    }
  }
  {
    const std::lock_guard lock(mutex_);
    pending_.emplace(job, std::move(pending));
  }
  inner_->submit(job, direction, requests);
}

CheckedQueue::Pending CheckedQueue::take(JobId job) {
  const std::lock_guard lock(mutex_);
  return std::move(pending_.extract(job).mapped());
}

void CheckedQueue::complete(JobId job, const IoResult& result) {
  const Pending pending = take(job);
  if (result.error) return on_complete_(job, result);
  if (pending.direction == IoDirection::kRead) return on_complete_(job, check(pending));
  for (std::size_t i = 0; i < pending.requests.size(); ++i)
    checksums_.record(pending.requests[i], pending.sums[i]);
  on_complete_(job, result);
}

IoResult CheckedQueue::check(const Pending& pending) {
  for (const IoRequest& request : pending.requests) {
    const auto mismatch = checksums_.check(request);
    if (!mismatch) continue;
    return {.error = make_error_code(Errc::kCorrupted),
            .offset = mismatch->offset,
            .wanted = mismatch->size_bytes,
            .got = mismatch->size_bytes,
            .path = "the swap space",
            .detail = fmt::format("xxh3 was {:016x} when written, is {:016x} when read back",
                                  mismatch->written_xxh3, mismatch->read_xxh3)};
  }
  return {};
}

}  // namespace

std::uint64_t Checksums::sum(const IoRequest& block) {
  return XXH3_64bits(block.memory, block.size_bytes);
}

void Checksums::forget(const IoRequest& block) {
  const std::lock_guard lock(mutex_);
  erase_overlapping(block);
}

void Checksums::record(const IoRequest& block, std::uint64_t xxh3) {
  if (block.size_bytes == 0) return;
  const std::lock_guard lock(mutex_);
  erase_overlapping(block);
  blocks_[block.offset] = {block.size_bytes, xxh3};
}

void Checksums::erase_overlapping(const IoRequest& block) {
  auto at = blocks_.lower_bound(block.offset);
  if (at != blocks_.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second.size_bytes > block.offset) at = before;
  }
  while (at != blocks_.end() && at->first < block.offset + block.size_bytes) at = blocks_.erase(at);
}

// The blocks are copied out, so that no sum is taken under the lock.
std::vector<std::pair<std::uint64_t, Checksums::Entry>> Checksums::covered(
    const IoRequest& block) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::uint64_t, Entry>> found;
  for (auto at = blocks_.lower_bound(block.offset);
       at != blocks_.end() && at->first + at->second.size_bytes <= block.offset + block.size_bytes;
       ++at)
    found.push_back(*at);
  return found;
}

std::optional<Checksums::Mismatch> Checksums::check(const IoRequest& block) {
  std::uint64_t checked = 0;
  std::optional<Mismatch> mismatch;
  for (const auto& [offset, entry] : covered(block)) {
    const std::uint64_t now =
        sum({offset, block.memory + (offset - block.offset), entry.size_bytes});
    checked += entry.size_bytes;
    if (now != entry.xxh3 && !mismatch) mismatch = {offset, entry.size_bytes, entry.xxh3, now};
  }
  const std::lock_guard lock(mutex_);
  checked_bytes_ += checked;
  unchecked_bytes_ += block.size_bytes - checked;
  return mismatch;
}

std::uint64_t Checksums::checked_bytes() const {
  const std::lock_guard lock(mutex_);
  return checked_bytes_;
}

std::uint64_t Checksums::unchecked_bytes() const {
  const std::lock_guard lock(mutex_);
  return unchecked_bytes_;
}

std::unique_ptr<IoQueue> make_checked_queue(
    const SwapFiles& files, Checksums& checksums, OnComplete on_complete,
    const std::function<std::unique_ptr<IoQueue>(OnComplete)>& make_inner) {
  return std::make_unique<CheckedQueue>(files, checksums, std::move(on_complete), make_inner);
}

}  // namespace ebbtide::tiers
