// A setting that "auto" may come to, and what came of trying it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "src/model/llama.hpp"

namespace ebbtide::train {

struct Candidate {
  model::StatePlacement placement;
  model::ActivationPolicy activations;
  std::int64_t attention_group = 1;

  bool operator==(const Candidate&) const = default;
};

struct Tried {
  Candidate candidate;
  bool fits = false;
  std::string why_not{};                 // where it does not fit
  double step_seconds = 0;               // simulated
  double op_seconds = 0;                 // the same if nothing were waited for
  std::uint64_t nvme_bytes_written = 0;  // a step
  std::uint64_t host_bytes = 0;          // that the plans span
};

using OnTried = std::function<void(const Tried&)>;

}  // namespace ebbtide::train
