// The jobs of one queue: cuts them into transfers in order of arrival and tells when one is over.
//
// Thread safety: none; the queue's mutex guards it.
//
// Invariants
//  1. A transfer never spans two files, two stripes or two registered buffers, and has at most
//     block_bytes.
//  2. After a job's first failure no more of it is cut; it finishes when its last transfer has
//  ended.
//  3. Nothing is allocated once as many jobs of as many requests have been outstanding before.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tiering/tiers/io_queue.hpp"
#include "tiering/tiers/transfer.hpp"

namespace ebbtide::tiers {

// The most that io_uring registers as one buffer, and so the most that one transfer has.
inline constexpr std::uint64_t kRegisteredBufferBytes = std::uint64_t{1} << 30;

struct Job {
  JobId id = 0;
  IoDirection direction = IoDirection::kRead;
  std::vector<IoRequest> requests;
  std::size_t request = 0;      // the next to be cut,
  std::uint64_t cut_bytes = 0;  // and how much of it has been
  std::uint32_t in_flight = 0;  // transfers cut and not ended
  IoResult result;

  bool all_cut() const { return result.error || request == requests.size(); }
};

class JobBook {
 public:
  JobBook(const SwapFiles& files, const IoQueueOptions& options);
  void reserve(std::size_t jobs, std::size_t requests);  // as in IoQueue

  // Requires aligned requests inside the swap space. Returns the transfers that it will be cut
  // into, or a few less.
  std::uint64_t add(JobId id, IoDirection direction, std::span<const IoRequest> requests);
  bool can_cut() const { return !waiting_.empty(); }
  bool has_finished() const { return !finished_.empty(); }
  Transfer cut();  // Requires can_cut().
  void end(const Transfer& transfer, const Outcome& outcome);
  Job* take_finished();  // Requires has_finished(). Give it back with recycle().
  void recycle(Job* job) { spare_.push_back(job); }

 private:
  // A queue that keeps its memory.
  class Fifo {
   public:
    void reserve(std::size_t jobs) { jobs_.reserve(2 * jobs + 2); }  // half may be behind head_
    bool empty() const { return head_ == jobs_.size(); }
    Job* front() const { return jobs_[head_]; }
    void push(Job* job);
    void pop();

   private:
    std::vector<Job*> jobs_;
    std::size_t head_ = 0;
  };

  std::uint64_t to_buffer_end(const std::byte* memory) const;

  const SwapFiles& files_;
  const std::uint64_t block_bytes_;
  const std::span<std::byte> registered_;
  std::vector<std::unique_ptr<Job>> jobs_;  // all there are
  std::vector<Job*> spare_;
  Fifo waiting_;  // not all cut; only the front may be begun
  Fifo finished_;
};

}  // namespace ebbtide::tiers
