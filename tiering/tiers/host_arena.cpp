#include "tiering/tiers/host_arena.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <utility>

#include "ebbtide/error.hpp"
#include "ebbtide/types.hpp"
#include "tiering/tiers/available_memory.hpp"
#include "tiering/tiers/errno_name.hpp"

namespace ebbtide::tiers {
namespace {

constexpr std::uint64_t kHugePageBytes = std::uint64_t{2} << 20;
// Left to page tables (1/512 of the arena without huge pages) and to whoever allocates meanwhile.
constexpr std::uint64_t kReserveBytes = std::uint64_t{16} << 20;

[[noreturn]] void does_not_fit(const std::string& name, std::uint64_t wanted,
                               std::uint64_t available, const std::string& advice) {
  throw Error(make_error_code(Errc::kDoesNotFit), {.operation = "reserve the " + name + " arena",
                                                   .wanted = wanted,
                                                   .got = available,
                                                   .advice = advice});
}

void check_available(const HostArenaOptions& options) {
  AvailableMemory memory;
  if (options.available_bytes) {
    memory = {options.available_bytes(), "the machine"};
  } else {
    memory = available_memory();
  }
  const std::uint64_t reserve = kReserveBytes + options.size_bytes / 512;
  if (options.size_bytes <= memory.size_bytes && reserve <= memory.size_bytes - options.size_bytes)
    return;
  const std::uint64_t fits =
      memory.size_bytes > kReserveBytes ? (memory.size_bytes - kReserveBytes) / 513 * 512 : 0;
  does_not_fit(
      options.name, options.size_bytes, memory.size_bytes,
      fmt::format("{} has that much available; a {} memory of {} bytes would fit",
                  memory.limited_by, options.name, fits / kPageAlignment * kPageAlignment));
}

std::string limit_text(const rlimit& limit) {
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{} bytes", limit.rlim_cur);
}

int system_lock(void* address, std::size_t size_bytes) {
  return ::mlock(address, size_bytes) == 0 ? 0 : errno;
}

class Topology {
 public:
  Topology() {
    if (hwloc_topology_init(&topology_) != 0) topology_ = nullptr;
    if (topology_ && hwloc_topology_load(topology_) != 0) destroy();
  }
  ~Topology() { destroy(); }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
  hwloc_topology_t get() const { return topology_; }

 private:
  void destroy() {
    if (topology_) hwloc_topology_destroy(topology_);
    topology_ = nullptr;
  }
  hwloc_topology_t topology_ = nullptr;
};

}  // namespace

HostArena::HostArena(const HostArenaOptions& options) {
  if (options.size_bytes == 0) return;
  check_available(options);
  bytes_ = {static_cast<std::byte*>(nullptr), align_up(options.size_bytes, kPageAlignment)};
  map(options);
  try {
    if (options.numa == NumaPlacement::kNearest) bind_to_nearest_node();
    touch(options);
    if (options.lock == PageLock::kTry) lock(options);
  } catch (...) {
    unmap();
    throw;
  }
}

HostArena::~HostArena() {
  unmap();
}

HostArena::HostArena(HostArena&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), warnings_(std::move(other.warnings_)) {}

HostArena& HostArena::operator=(HostArena&& other) noexcept {
  if (this == &other) return *this;
  unmap();
  bytes_ = std::exchange(other.bytes_, {});
  warnings_ = std::move(other.warnings_);
  return *this;
}

// Maps a huge page more than needed and gives back what lies before and after the aligned part, so
// that huge pages can start at the first byte.
void HostArena::map(const HostArenaOptions& options) {
  const std::uint64_t size_bytes = bytes_.size();
  const std::uint64_t slack = size_bytes >= kHugePageBytes ? kHugePageBytes : 0;
  void* const mapped = ::mmap(nullptr, size_bytes + slack, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    does_not_fit(options.name, size_bytes, 0,
                 fmt::format("mmap: {}; the address space limit (ulimit -v) is {}",
                             errno_text(errno), limit_text(limit)));
  }
  auto* const begin = static_cast<std::byte*>(mapped);
  const std::uint64_t before =
      slack ? align_up(reinterpret_cast<std::uintptr_t>(begin), kHugePageBytes) -
                  reinterpret_cast<std::uintptr_t>(begin)
            : 0;
  if (before > 0) ::munmap(begin, before);
  if (slack > before) ::munmap(begin + before + size_bytes, slack - before);
  bytes_ = {begin + before, size_bytes};
  // Where the kernel has no huge pages this fails, and small ones do.
  const int advice = options.huge_pages == HugePages::kNever ? MADV_NOHUGEPAGE : MADV_HUGEPAGE;
  ::madvise(bytes_.data(), size_bytes, advice);
}

// Not strict: where the node is full, pages come from the next one rather than not at all.
void HostArena::bind_to_nearest_node() {
  const Topology topology;
  if (!topology.get() || hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_NUMANODE) < 2) return;
  const hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
  int failed = hwloc_get_last_cpu_location(topology.get(), cpus, HWLOC_CPUBIND_THREAD);
  if (failed == 0)
    failed = hwloc_set_area_membind(topology.get(), bytes_.data(), bytes_.size(), cpus,
                                    HWLOC_MEMBIND_BIND, 0);
  const int error = errno;
  hwloc_bitmap_free(cpus);
  if (failed != 0)
    warnings_.push_back(fmt::format(
        "host arena: not bound to the nearest NUMA node: {}; pages are placed by the system",
        errno_text(error)));
}

void HostArena::touch([[maybe_unused]] const HostArenaOptions& options) {
#ifdef MADV_POPULATE_WRITE
  int error = 0;
  do {
    error = ::madvise(bytes_.data(), bytes_.size(), MADV_POPULATE_WRITE) == 0 ? 0 : errno;
  } while (error == EINTR || error == EAGAIN);
  if (error == 0) return;
  if (error != EINVAL)
    does_not_fit(options.name, bytes_.size(), 0,
                 fmt::format("taking the pages failed: {}; ask for less {} memory",
                             errno_text(error), options.name));
#endif
  // Kernels before 5.14.
  for (std::uint64_t at = 0; at < bytes_.size(); at += kPageAlignment)
    static_cast<volatile std::byte&>(bytes_[at]) = std::byte{0};
}

void HostArena::lock(const HostArenaOptions& options) {
  const int error = options.lock_pages ? options.lock_pages(bytes_.data(), bytes_.size())
                                       : system_lock(bytes_.data(), bytes_.size());
  if (error == 0) return;
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  warnings_.push_back(fmt::format(
      "host arena: locking {} bytes in memory was refused: {}; the limit (RLIMIT_MEMLOCK, "
      "ulimit -l) is {}; going on unlocked",
      bytes_.size(), errno_text(error), limit_text(limit)));
}

void HostArena::unmap() noexcept {
  if (bytes_.data()) ::munmap(bytes_.data(), bytes_.size());
  bytes_ = {};
}

}  // namespace ebbtide::tiers
