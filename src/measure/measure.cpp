#include "src/measure/measure.hpp"

#include <algorithm>
#include <ctime>
#include <fstream>

#include "kernels/kernels.hpp"
#include "src/measure/compute.hpp"
#include "src/measure/copies.hpp"
#include "src/measure/disk.hpp"
#include "tiering/tiers/available_memory.hpp"

namespace ebbtide::measure {
namespace {

// Of the time, when each section ends, with and without disks. Kernels have the most shapes; what
// one section takes too long the next ones have less.
struct Ends {
  double compute;
  double memory;
  double copies;
  double disk;
};
constexpr Ends kWithDisk{0.5, 0.55, 0.65, 1};
constexpr Ends kWithoutDisk{0.75, 0.85, 1, 1};

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
  const Ends& ends = options.nvme_paths.empty() ? kWithoutDisk : kWithDisk;
  const Clock::time_point start = Clock::now();
  const auto pace = [&](const char* section, double end) {
    const double seconds = end * options.time_limit_s - seconds_since(start);
    return Pace(section, std::max(0.0, seconds), stop, on_measuring);
  };
  Figures figures{.cpu_name = cpu_name(),
                  .date = today(),
                  .threads = options.threads,
                  .memory_bytes = tiers::available_memory().size_bytes};
  {
    const auto kernels = kernels::make_cpu_kernels({.threads = options.threads});
    Pace compute = pace("kernels", ends.compute);
    figures.compute = measure_compute(*kernels, compute);
    Pace memory = pace("memory", ends.memory);
    figures.memory = measure_memory(*kernels, options.threads, memory);
  }
  Pace copies = pace("copies", ends.copies);
  figures.copies = measure_copies(copies);
  if (options.nvme_paths.empty()) return figures;
  Pace disk = pace("NVMe", ends.disk);
  figures.disk = measure_disk(options.nvme_paths, disk);
  return figures;
}

}  // namespace ebbtide::measure
