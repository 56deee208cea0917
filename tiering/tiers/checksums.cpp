#include "tiering/tiers/checksums.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

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
  void reserve(std::size_t jobs, std::size_t requests) override;
  void drain() override { inner_->drain(); }
  std::string engine_name() const override { return inner_->engine_name(); }
  const std::vector<std::string>& warnings() const override { return inner_->warnings(); }

 private:
  struct Pending {
    JobId job = 0;
    bool is_pending = false;
    IoDirection direction = IoDirection::kRead;
    std::vector<IoRequest> requests;
  };

  void keep(JobId job, IoDirection direction, std::span<const IoRequest> requests);
  Pending& find(JobId job);
  void complete(JobId job, const IoResult& result);
  IoResult check(const Pending& pending);

  const SwapFiles& files_;
  Checksums& checksums_;
  const OnComplete on_complete_;
  std::mutex mutex_;
  // Guarded by mutex_, but for the requests of one that is pending. Ids may repeat.
  std::vector<std::unique_ptr<Pending>> pending_;
  std::unique_ptr<IoQueue> inner_;  // last: it completes jobs until it is gone
};

void CheckedQueue::reserve(std::size_t jobs, std::size_t requests) {
  inner_->reserve(jobs, requests);
  const std::lock_guard lock(mutex_);
  while (pending_.size() < jobs) pending_.push_back(std::make_unique<Pending>());
  for (const auto& pending : pending_) pending->requests.reserve(requests);
}

// Sums are recorded here and not when the write is done: until then nobody reads these bytes.
void CheckedQueue::submit(JobId job, IoDirection direction, std::span<const IoRequest> requests) {
  for (const IoRequest& request : requests) check_request(files_, request);
  if (direction == IoDirection::kWrite) {
    for (const IoRequest& request : requests) checksums_.record(request);
  }
  keep(job, direction, requests);
  inner_->submit(job, direction, requests);
}

void CheckedQueue::keep(JobId job, IoDirection direction, std::span<const IoRequest> requests) {
  const std::lock_guard lock(mutex_);
  auto at = std::ranges::find_if(pending_, [](const auto& known) { return !known->is_pending; });
  if (at == pending_.end()) at = pending_.insert(at, std::make_unique<Pending>());
  Pending& pending = **at;
  pending.job = job;
  pending.is_pending = true;
  pending.direction = direction;
  pending.requests.assign(requests.begin(), requests.end());
}

CheckedQueue::Pending& CheckedQueue::find(JobId job) {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find_if(
      pending_, [job](const auto& known) { return known->is_pending && known->job == job; });
  EBBTIDE_CHECK(at != pending_.end(), fmt::format("job {} was not submitted", job));
  return **at;
}

void CheckedQueue::complete(JobId job, const IoResult& result) {
  Pending& pending = find(job);
  IoResult checked;
  if (result.error) {
    if (pending.direction == IoDirection::kWrite) {
      for (const IoRequest& request : pending.requests) checksums_.forget(request);
    }
  } else if (pending.direction == IoDirection::kRead) {
    checked = check(pending);
  }
  {
    const std::lock_guard lock(mutex_);
    pending.is_pending = false;
  }
  on_complete_(job, result.error ? result : checked);
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

void Checksums::reserve(std::size_t pieces) {
  const std::lock_guard lock(mutex_);
  if (spare_.size() >= pieces) return;
  // Twice as many: what the first step leaves recorded is then still there for the second.
  while (spare_.size() < 2 * pieces) add_spare();
}

void Checksums::add_spare() {
  Pieces made;
  made.try_emplace(0);
  spare_.reserve(std::bit_ceil(pieces_.size() + spare_.size() + 1));  // all may be spare at once
  spare_.push_back(made.extract(made.begin()));
}

// A node of the map: three pointers and a colour before the offset, the size and the sum, and what
// malloc adds; and its place among the spare ones.
std::uint64_t Checksums::memory_bytes(std::uint64_t pieces) {
  constexpr std::uint64_t kNodeBytes = 4 * sizeof(void*) + sizeof(Pieces::value_type) + 16;
  return 3 * pieces * (kNodeBytes + 2 * sizeof(Pieces::node_type));
}

void Checksums::forget(const IoRequest& block) {
  const std::lock_guard lock(mutex_);
  erase_overlapping(block);
}

void Checksums::record(const IoRequest& block) {
  for (std::uint64_t at = 0; at < block.size_bytes; at += kPieceBytes)
    record_piece(
        {block.offset + at, block.memory + at, std::min(kPieceBytes, block.size_bytes - at)});
}

// No sum is taken under the lock.
void Checksums::record_piece(const IoRequest& piece) {
  const std::uint64_t xxh3 = sum(piece);
  const std::lock_guard lock(mutex_);
  erase_overlapping(piece);
  if (spare_.empty()) add_spare();
  Pieces::node_type node = std::move(spare_.back());
  spare_.pop_back();
  node.key() = piece.offset;
  node.mapped() = {piece.size_bytes, xxh3};
  pieces_.insert(std::move(node));
}

void Checksums::erase_overlapping(const IoRequest& block) {
  auto at = pieces_.lower_bound(block.offset);
  if (at != pieces_.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second.size_bytes > block.offset) at = before;
  }
  while (at != pieces_.end() && at->first < block.offset + block.size_bytes)
    spare_.push_back(pieces_.extract(at++));
}

std::optional<std::pair<std::uint64_t, Checksums::Entry>> Checksums::next(std::uint64_t begin,
                                                                          std::uint64_t end) const {
  const std::lock_guard lock(mutex_);
  const auto at = pieces_.lower_bound(begin);
  if (at == pieces_.end() || at->first + at->second.size_bytes > end) return std::nullopt;
  return *at;
}

// Each piece is copied out, so that no sum is taken under the lock.
std::optional<Checksums::Mismatch> Checksums::check(const IoRequest& block) {
  const std::uint64_t end = block.offset + block.size_bytes;
  std::uint64_t checked = 0;
  std::optional<Mismatch> mismatch;
  for (auto piece = next(block.offset, end); piece;
       piece = next(piece->first + piece->second.size_bytes, end)) {
    const auto& [offset, entry] = *piece;
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
