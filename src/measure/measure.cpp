#include "src/measure/measure.hpp"

#include <ctime>
#include <fstream>

#include "kernels/kernels.hpp"
#include "src/measure/compute.hpp"
#include "src/measure/copies.hpp"
#include "src/measure/disk.hpp"
#include "tiering/tiers/available_memory.hpp"

namespace ebbtide::measure {
namespace {

// Of the time, for each section, with and without disks. Kernels have the most shapes.
struct Shares {
  double compute;
  double memory;
  double copies;
  double disk;
};
constexpr Shares kWithDisk{0.5, 0.05, 0.1, 0.35};
constexpr Shares kWithoutDisk{0.75, 0.1, 0.15, 0};

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t at = line.find_first_not_of(": \t", line.find(':'));
    if (at != std::string::npos) return line.substr(at);
  }
  return "unknown CPU";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[sizeof "2026-12-01"];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d", &parts)};
}

}  // namespace

Figures measure_machine(const MeasureOptions& options, const OnMeasuring& on_measuring,
                        const std::stop_token& stop) {
  check_directories(options.nvme_paths);
  const Shares& shares = options.nvme_paths.empty() ? kWithoutDisk : kWithDisk;
  const auto pace = [&](const char* section, double share) {
    return Pace(section, share * options.time_limit_s, stop, on_measuring);
  };
  Figures figures{.cpu_name = cpu_name(),
                  .date = today(),
                  .threads = options.threads,
                  .memory_bytes = tiers::available_memory().size_bytes};
  {
    const auto kernels = kernels::make_cpu_kernels({.threads = options.threads});
    Pace compute = pace("kernels", shares.compute);
    figures.compute = measure_compute(*kernels, compute);
    Pace memory = pace("memory", shares.memory);
    figures.memory = measure_memory(*kernels, options.threads, memory);
  }
  Pace copies = pace("copies", shares.copies);
  figures.copies = measure_copies(copies);
  if (options.nvme_paths.empty()) return figures;
  Pace disk = pace("NVMe", shares.disk);
  figures.disk = measure_disk(options.nvme_paths, disk);
  return figures;
}

}  // namespace ebbtide::measure
