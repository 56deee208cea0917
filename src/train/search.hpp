// Looks for the setting whose step is fastest by simulation: where weights, gradients and optimizer
// state stay, which activations are saved, how many query chunks share a pass over the keys.
//
// Deterministic: no clock, no chance. What may be tried is bounded by the ops that are planned, so
// that a small run is searched through and a huge one settles for its first plans.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "src/train/candidate.hpp"

namespace ebbtide::train {

struct SearchSpace {
  // Of these the first one that fits is where the search begins.
  std::vector<Candidate> starts;
  // What may be changed of a candidate.
  std::vector<model::StatePlacement> placements;
  std::vector<model::ActivationPolicy> policies;
  std::vector<std::int64_t> attention_groups;
};

// Of those that are nearly as fast as the fastest, the one that writes least to NVMe, then the one
// that holds least of the host. Requires one that fits.
const Tried& best_of(const std::vector<Tried>& tried);

// Plans a candidate and adds to the list how long its step is.
using Attempt = std::function<void(const Candidate&)>;

// Attempts one candidate after the other; `tried` is the list that `attempt` adds to, of which none
// fits if no start does. Ends when no change makes the best one better, when the best one's step is
// all work and nothing of it goes to NVMe, or when `is_enough` says so, which is asked once one
// fits.
void search(const SearchSpace& space, const std::vector<Tried>& tried, const Attempt& attempt,
            const std::function<bool()>& is_enough);

}  // namespace ebbtide::train
