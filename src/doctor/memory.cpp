// Memory: how much can be taken, huge pages, what may be locked.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "src/doctor/checks.hpp"
#include "src/doctor/system_files.hpp"
#include "src/report/units.hpp"
#include "tiering/tiers/available_memory.hpp"
#include "tiering/tiers/control_groups.hpp"

namespace ebbtide::doctor {
namespace {

using report::bytes_text;

// A run that is given no budgets leaves 256 MiB free; with less than twice that nothing useful
// fits.
constexpr std::uint64_t kLeastMemoryBytes = std::uint64_t{512} << 20;
// Of the machine: where a container leaves less of it, it is the container that binds.
constexpr double kMostOfTheMachine = 0.9;

std::uint64_t meminfo_bytes(const System& system, const std::string& key) {
  return 1024 * tiers::number_in(system.root() / "proc/meminfo", key).value_or(0);
}

}  // namespace

Findings check_memory(const System& system) {
  const tiers::AvailableMemory memory = tiers::available_memory(system.root());
  const std::uint64_t machine = meminfo_bytes(system, "MemAvailable:");
  Finding finding{"memory", "memory", Verdict::kGood,
                  fmt::format("{} can be taken; {} sets that", bytes_text(memory.size_bytes),
                              memory.limited_by),
                  "device and host arena of the cpu device come out of it; budgets that are not "
                  "given are half of it each, less a margin"};
  if (memory.size_bytes == kUnlimited) {
    finding.verdict = Verdict::kNotHere;
    finding.found = "neither /proc/meminfo nor a control group says what can be taken";
    finding.remedy = "give --device-memory and --host-memory";
    return {finding};
  }
  const bool is_contained =
      static_cast<double>(memory.size_bytes) < kMostOfTheMachine * static_cast<double>(machine);
  if (is_contained) {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.found += fmt::format("; the machine would have {}", bytes_text(machine));
    finding.remedy =
        "raise the container's limit (Docker: --memory; Kubernetes: limits.memory; systemd: "
        "MemoryMax=; Slurm: --mem)";
  }
  if (memory.size_bytes < kLeastMemoryBytes) {
    finding.verdict = Verdict::kInTheWay;
    finding.meaning = "hardly any run fits beside the margin of 256 MiB";
    if (!is_contained) finding.remedy = "end what else runs: ps aux --sort=-rss | head";
  }
  return {finding};
}

namespace {

Finding transparent_huge_pages(const System& system) {
  const std::filesystem::path folder = system.root() / "sys/kernel/mm/transparent_hugepage";
  const auto enabled = chosen_in(folder / "enabled");
  Finding finding{"transparent_huge_pages", "transparent huge pages", Verdict::kGood, "",
                  "arenas ask for them (madvise): fewer TLB misses in every kernel"};
  if (!enabled) {
    finding.verdict = Verdict::kNotHere;
    finding.found = "this kernel has none";
    finding.meaning = "arenas are in small pages: more TLB misses";
    return finding;
  }
  finding.found = fmt::format("enabled: {}", *enabled);
  if (const auto shmem = chosen_in(folder / "shmem_enabled"))
    finding.found += fmt::format("; for shared memory, which arenas are not: {}", *shmem);
  if (*enabled != "never") return finding;
  finding.verdict = Verdict::kCouldBeBetter;
  finding.remedy = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled";
  return finding;
}

Finding reserved_huge_pages(const System& system) {
  const std::filesystem::path meminfo = system.root() / "proc/meminfo";
  const std::uint64_t free_pages = tiers::number_in(meminfo, "HugePages_Free:").value_or(0);
  const std::uint64_t free_bytes = free_pages * meminfo_bytes(system, "Hugepagesize:");
  Finding finding{"reserved_huge_pages", "reserved huge pages", Verdict::kGood,
                  "none are kept aside", "arenas take transparent ones and need no pool"};
  if (free_bytes == 0) return finding;
  finding.verdict = Verdict::kCouldBeBetter;
  finding.found =
      fmt::format("{} lie unused in the pool (vm.nr_hugepages)", bytes_text(free_bytes));
  finding.meaning = "arenas do not take pages of the pool: that memory is lost to them";
  finding.remedy = "sudo sysctl vm.nr_hugepages=0, if nobody else uses them";
  return finding;
}

// CAP_IPC_LOCK, bit 14 of the effective capabilities, is bound by no limit on locked memory.
bool may_lock_anything(const System& system) {
  const auto bits = value_of(system.root() / "proc/self/status", "CapEff");
  constexpr unsigned kIpcLock = 14;
  return bits && (std::strtoull(bits->c_str(), nullptr, 16) >> kIpcLock & 1U) != 0;
}

}  // namespace

Findings check_huge_pages(const System& system) {
  return {transparent_huge_pages(system), reserved_huge_pages(system)};
}

// Both rings of a run, one that writes and one that reads, register the host arena: each counts.
Findings check_locked_memory(const System& system, const Needs& needs) {
  const std::uint64_t limit = system.limit(Resource::kLockedMemory);
  const std::uint64_t needed = 2 * needs.host_bytes;
  Finding finding{
      "locked_memory", "locked memory", Verdict::kGood,
      limit == kUnlimited ? std::string("unlimited (ulimit -l)")
                          : fmt::format("at most {} (ulimit -l)", bytes_text(limit)),
      "io_uring registers the host arena twice, once to read and once to write; transfers "
      "then look no page up"};
  finding.found += fmt::format("; a host arena of {} takes {}", bytes_text(needs.host_bytes),
                               bytes_text(needed));
  if (may_lock_anything(system)) {
    finding.found += ", and this process may pass any limit (CAP_IPC_LOCK)";
    return {finding};
  }
  if (needed <= limit) return {finding};
  finding.verdict = Verdict::kCouldBeBetter;
  finding.meaning =
      "the arena is not registered: a run goes on with plain buffers and a warning, "
      "and transfers take more CPU time";
  finding.remedy =
      "ulimit -l unlimited, as root or after a line \"* - memlock unlimited\" in "
      "/etc/security/limits.conf (Docker: --ulimit memlock=-1; systemd: LimitMEMLOCK=infinity)";
  return {finding};
}

}  // namespace ebbtide::doctor
