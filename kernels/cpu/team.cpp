#include "kernels/cpu/team.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <string>
#include <utility>

#include "ebbtide/error.hpp"
#include "kernels/cpu/one_thread.hpp"

namespace ebbtide::kernels::cpu {
namespace {

std::byte* map_memory(std::size_t size_bytes) {
  void* memory =
      ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    ErrorContext context;
    context.operation = "allocate the compute team's scratch memory";
    context.wanted = size_bytes;
    throw Error(std::error_code(errno, std::system_category()), context);
  }
  return static_cast<std::byte*>(memory);
}

std::size_t memory_bytes(int threads) {
  EBBTIDE_CHECK(threads >= 1, "threads " + std::to_string(threads));
  return Team::kSharedBytes + static_cast<std::size_t>(threads) * Team::kScratchBytes;
}

}  // namespace

void Team::Unmap::operator()(std::byte* memory) const {
  ::munmap(memory, size_bytes);
}

Team::Team(int threads) : memory_(map_memory(memory_bytes(threads)), Unmap{memory_bytes(threads)}) {
  workers_.reserve(static_cast<std::size_t>(threads) - 1);
  try {
    for (int member = 1; member < threads; ++member) {
      workers_.emplace_back([this, member] { serve(member); });
    }
  } catch (...) {  // a thread that still runs must not be destroyed
    stop();
    throw;
  }
}

Team::~Team() {
  stop();
}

void Team::stop() {
  stop_ = true;
  ++signal_;
  signal_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Team::run(std::int64_t count, const Job& job) {
  EBBTIDE_CHECK(count >= 0 && count < (std::int64_t{1} << 32), "blocks " + std::to_string(count));
  if (count == 0) return;
  const OneThread one_thread;
  job_ = job;
  unfinished_ = static_cast<std::uint32_t>(count);
  const std::uint64_t epoch = (tickets_.load() >> 32) + 1;
  tickets_ = (epoch << 32) | static_cast<std::uint64_t>(count);
  if (count > 1 && !workers_.empty()) {
    ++signal_;
    signal_.notify_all();
  }
  work(0);
  for (std::uint32_t left = unfinished_; left != 0; left = unfinished_) unfinished_.wait(left);
  if (failed_.exchange(false)) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Team::work(int member) {
  while (take_block(member)) {
  }
}

bool Team::take_block(int member) {
  std::uint64_t ticket = tickets_.load();
  do {
    if (static_cast<std::uint32_t>(ticket) == 0) return false;
  } while (!tickets_.compare_exchange_weak(ticket, ticket - 1));
  const std::int64_t index = job_.count - static_cast<std::uint32_t>(ticket);
  try {
    job_.call(job_.context, index, member);
  } catch (...) {
    keep_failure();
  }
  if (--unfinished_ == 0) unfinished_.notify_all();
  return true;
}

void Team::keep_failure() {
  if (!failed_.exchange(true)) failure_ = std::current_exception();
}

void Team::serve(int member) {
  const OneThread one_thread;
  while (!stop_) {
    const std::uint32_t seen = signal_;
    work(member);
    if (!stop_) signal_.wait(seen);
  }
}

}  // namespace ebbtide::kernels::cpu
