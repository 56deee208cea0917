// The checks: each looks at one thing of a system and says what it means for Ebbtide. Pure but for
// what they ask of the system; none throws for what it finds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "src/doctor/finding.hpp"
#include "src/doctor/system.hpp"

namespace ebbtide::doctor {

// What a run would ask of the machine.
struct Needs {
  std::vector<std::filesystem::path> nvme_paths;
  std::uint64_t host_bytes = 0;  // of the host arena; 0: not known
};

Findings check_gpu(const System& system);
Findings check_cpu(const System& system);         // instructions
Findings check_cpu_time(const System& system);    // CPUs and quota
Findings check_memory(const System& system);      // what can be taken, and what limits it
Findings check_huge_pages(const System& system);  // transparent and reserved ones
Findings check_locked_memory(const System& system, const Needs& needs);
Findings check_io_uring(const System& system);
Findings check_nvme_paths(const System& system, const Needs& needs);
Findings check_pcie(const System& system);  // links of drives and GPUs
Findings check_numa(const System& system);
Findings check_open_files(const System& system, const Needs& needs);
Findings check_threads(const System& system);
Findings check_sizes(const System& system);  // limits on files and address space

// All of them, the worst first; those of one verdict in the order above.
Findings examine(const System& system, const Needs& needs);

}  // namespace ebbtide::doctor
