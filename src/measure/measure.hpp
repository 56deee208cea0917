// Measures this machine: kernels, memory, copies and, where a directory is given, disks.
#pragma once

#include <filesystem>
#include <stop_token>
#include <vector>

#include "src/measure/figures.hpp"
#include "src/measure/pace.hpp"

namespace ebbtide::measure {

struct MeasureOptions {
  int threads = 1;           // of the compute team
  double time_limit_s = 60;  // about; each figure is taken once whatever it says
  std::vector<std::filesystem::path> nvme_paths{};  // none: disks are not measured
};

// Blocks. Throws Error(kBadUsage, kDoesNotFit, kCancelled once a stop was requested, or with the
// errno).
Figures measure_machine(const MeasureOptions& options, const OnMeasuring& on_measuring,
                        const std::stop_token& stop);

}  // namespace ebbtide::measure
