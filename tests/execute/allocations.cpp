// Sanitizers bring their own new and delete, which are left alone: nothing is counted there.
#include "tests/execute/allocations.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

std::uint64_t ebbtide::test::allocation_count() {
  return 0;
}
std::int64_t ebbtide::test::live_allocation_count() {
  return 0;
}

#else

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> count{0};
std::atomic<std::int64_t> live{0};

void* counted(std::size_t size_bytes) {
  count.fetch_add(1, std::memory_order_relaxed);
  live.fetch_add(1, std::memory_order_relaxed);
  void* const memory = std::malloc(size_bytes == 0 ? 1 : size_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void give_back(void* memory) {
  if (memory == nullptr) return;
  live.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

std::uint64_t ebbtide::test::allocation_count() {
  return count.load();
}
std::int64_t ebbtide::test::live_allocation_count() {
  return live.load();
}

// The other forms of new end in these.
void* operator new(std::size_t size_bytes) {
  return counted(size_bytes);
}
void* operator new[](std::size_t size_bytes) {
  return counted(size_bytes);
}
void operator delete(void* memory) noexcept {
  give_back(memory);
}
void operator delete[](void* memory) noexcept {
  give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  give_back(memory);
}

#endif
