#include "tiering/tiers/job_book.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tiering/tiers/swap_files.hpp"

namespace ebbtide::tiers {

void JobBook::Fifo::push(Job* job) {
  if (empty()) {
    jobs_.clear();
    head_ = 0;
  } else if (head_ > jobs_.size() / 2) {
    jobs_.erase(jobs_.begin(), jobs_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  jobs_.push_back(job);
}

void JobBook::Fifo::pop() {
  ++head_;
}

JobBook::JobBook(const SwapFiles& files, const IoQueueOptions& options)
    : files_(files),
      block_bytes_(std::min(options.block_bytes, kRegisteredBufferBytes)),
      registered_(options.registered) {
  EBBTIDE_CHECK(block_bytes_ > 0 && block_bytes_ % kPageAlignment == 0,
                fmt::format("blocks of {} bytes, pages of {}", block_bytes_, kPageAlignment));
}

void JobBook::reserve(std::size_t jobs, std::size_t requests) {
  spare_.reserve(std::max(jobs, jobs_.size()));
  while (jobs_.size() < jobs) {
    jobs_.push_back(std::make_unique<Job>());
    spare_.push_back(jobs_.back().get());
  }
  for (const std::unique_ptr<Job>& job : jobs_) job->requests.reserve(requests);
  waiting_.reserve(jobs_.size());
  finished_.reserve(jobs_.size());
}

std::uint64_t JobBook::add(JobId id, IoDirection direction, std::span<const IoRequest> requests) {
  for (const IoRequest& request : requests) check_request(files_, request);
  if (spare_.empty()) {
    jobs_.push_back(std::make_unique<Job>());
    spare_.push_back(jobs_.back().get());
  }
  Job* const job = spare_.back();
  spare_.pop_back();
  job->id = id;
  job->direction = direction;
  job->requests.clear();
  job->request = 0;
  job->cut_bytes = 0;
  job->result = {};
  std::uint64_t transfers = 0;
  for (const IoRequest& request : requests) {
    if (request.size_bytes == 0) continue;
    job->requests.push_back(request);
    transfers += (request.size_bytes + block_bytes_ - 1) / block_bytes_;
  }
  (job->all_cut() ? finished_ : waiting_).push(job);
  return transfers;
}

// Bytes to the end of the registered buffer that `memory` lies in.
std::uint64_t JobBook::to_buffer_end(const std::byte* memory) const {
  if (memory < registered_.data() || memory >= registered_.data() + registered_.size())
    return kRegisteredBufferBytes;
  const auto at = static_cast<std::uint64_t>(memory - registered_.data());
  return kRegisteredBufferBytes - at % kRegisteredBufferBytes;
}

Transfer JobBook::cut() {
  Job* const job = waiting_.front();
  const IoRequest& request = job->requests[job->request];
  std::byte* const memory = request.memory + job->cut_bytes;
  const std::uint64_t most =
      std::min({request.size_bytes - job->cut_bytes, block_bytes_, to_buffer_end(memory)});
  const SwapPiece piece = files_.locate(request.offset + job->cut_bytes, most);
  job->cut_bytes += piece.size_bytes;
  if (job->cut_bytes == request.size_bytes) {
    ++job->request;
    job->cut_bytes = 0;
  }
  ++job->in_flight;
  if (job->all_cut()) waiting_.pop();
  return {.job = job,
          .whole = {job->direction, piece.file, piece.offset, memory, piece.size_bytes}};
}

void JobBook::end(const Transfer& transfer, const Outcome& outcome) {
  Job* const job = transfer.job;
  --job->in_flight;
  if (outcome.next == Next::kFailed && !job->result.error) {
    if (!job->all_cut()) waiting_.pop();  // begun, so it is the front
    job->result = {.error = std::error_code(outcome.error, std::system_category()),
                   .offset = transfer.whole.offset + transfer.done_bytes,
                   .wanted = transfer.whole.size_bytes,
                   .got = transfer.done_bytes,
                   .path = files_.path(transfer.whole.file),
                   .detail = outcome.detail};
  }
  if (job->in_flight == 0 && job->all_cut()) finished_.push(job);
}

Job* JobBook::take_finished() {
  Job* const job = finished_.front();
  finished_.pop();
  return job;
}

}  // namespace ebbtide::tiers
