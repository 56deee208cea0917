// Changes of flags that may help against a cause of standing still. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ebbtide/hardware.hpp"
#include "src/report/exposure.hpp"
#include "src/train/options.hpp"
#include "src/train/run_facts.hpp"

namespace ebbtide::profile {

struct Change {
  std::string flag;   // "--host-memory"
  std::string flags;  // as they are to be given: "--host-memory 96MiB"
  std::string why;    // "give 32.0 MiB more host memory"
  report::Cause cause = report::Cause::kLateIssue;
  train::TrainOptions options;
  // What it does to the machine, where it does.
  std::function<void(HardwareModel&)> machine{};
};

// Smaller changes of a flag come first. None for causes that no flag helps against.
std::vector<Change> changes_against(report::Cause cause, const train::TrainOptions& options,
                                    const train::RunFacts& facts, std::int64_t usable_threads);

}  // namespace ebbtide::profile
