// A setting that was tried for a run, and what came of it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "src/model/llama.hpp"

namespace ebbtide::train {

struct Candidate {
  model::StatePlacement placement;
  model::ActivationPolicy activations;
  std::optional<double> step_seconds;  // nothing: it does not fit
  std::string why_not;
};

using OnTried = std::function<void(const Candidate&)>;

}  // namespace ebbtide::train
