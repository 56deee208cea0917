// The compute team: a fixed number of threads that share the blocks of one op at a time.
//
// One caller at a time; the caller is member 0 and works too. The others sleep while there is
// nothing to do.
//
// Invariants
//  1. How an op is cut in blocks never depends on the number of members, and blocks do not see
//     each other's results: so the number of members changes no bit.
//  2. Blocks begin in ascending order. A block may therefore wait for one of lower index.
//  3. Memory is allocated at construction only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <thread>
#include <vector>

namespace ebbtide::kernels::cpu {

class Team {
 public:
  // Of each member, and of the memory that all of them see.
  static constexpr std::size_t kScratchBytes = std::size_t{6} << 20;
  static constexpr std::size_t kSharedBytes = std::size_t{512} << 10;

  // Requires threads >= 1. Throws std::system_error where a thread cannot be started.
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls block(index, member) for every index of [0, count), and blocks until all are done.
  // Throws what a block threw first. Requires count < 2^32.
  template <typename Block>
  void for_each_block(std::int64_t count, Block&& block) {
    run(count, Job{[](void* context, std::int64_t index, int member) {
                     (*static_cast<std::remove_reference_t<Block>*>(context))(index, member);
                   },
                   const_cast<void*>(static_cast<const void*>(&block)), count});
  }

  // The member's own memory, 64-byte aligned; its content lasts as long as the block.
  template <typename T>
  std::span<T> scratch(int member) const {
    std::byte* begin =
        memory_.get() + kSharedBytes + static_cast<std::size_t>(member) * kScratchBytes;
    return {reinterpret_cast<T*>(begin), kScratchBytes / sizeof(T)};
  }
  // Memory that all members see; its content lasts as long as the op.
  template <typename T>
  std::span<T> shared() const {
    return {reinterpret_cast<T*>(memory_.get()), kSharedBytes / sizeof(T)};
  }

 private:
  struct Job {
    void (*call)(void* context, std::int64_t index, int member) = nullptr;
    void* context = nullptr;
    std::int64_t count = 0;
  };
  struct Unmap {
    std::size_t size_bytes = 0;
    void operator()(std::byte* memory) const;
  };

  void run(std::int64_t count, const Job& job);
  void stop();
  void work(int member);
  bool take_block(int member);
  void keep_failure();
  void serve(int member);

  std::unique_ptr<std::byte, Unmap> memory_;
  Job job_;  // written by the caller while no block is open
  // Epoch in the upper half, blocks not yet taken in the lower: a worker that wakes late takes a
  // block of the current job or none, and reads job_ only while that block keeps the caller here.
  std::atomic<std::uint64_t> tickets_{0};
  std::atomic<std::uint32_t> unfinished_{0};
  std::atomic<std::uint32_t> signal_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  // written by the one that set failed_
  std::vector<std::thread> workers_;
};

}  // namespace ebbtide::kernels::cpu
