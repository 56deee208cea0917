#include "src/train/search.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "ebbtide/error.hpp"

namespace ebbtide::train {
namespace {

// Steps that differ by less count as equally fast: no hardware model is as exact.
constexpr double kNearlyAsFast = 1.005;

// Where all is saved, a step is never shorter than its ops.
bool as_good_as_can_be(const Tried& best) {
  return best.nvme_bytes_written == 0 && best.candidate.activations.saved_fraction == 1 &&
         best.step_seconds <= kNearlyAsFast * best.op_seconds;
}

// The candidate with one thing changed, in every way.
using Changes = std::vector<Candidate>;

template <typename Choice>
Changes changes(const Candidate& from, const std::vector<Choice>& choices,
                Choice Candidate::*part) {
  Changes changed;
  for (const Choice& choice : choices) changed.emplace_back(from).*part = choice;
  return changed;
}

class Search {
 public:
  Search(const SearchSpace& space, const std::vector<Tried>& tried, const Attempt& attempt,
         const std::function<bool()>& is_enough)
      : space_(space), tried_(tried), attempt_(attempt), is_enough_(is_enough) {}

  void run() {
    for (const Candidate& start : space_.starts) {
      attempt_(start);
      if (tried_.back().fits) break;
    }
    if (tried_.empty() || !tried_.back().fits) return;
    do {
      while (improve()) {
      }
    } while (improve_both());
  }

 private:
  // Whether one change after the other led to a better candidate.
  bool improve() {
    const Candidate before = best();
    attempt_all(changes(best(), space_.policies, &Candidate::activations));
    attempt_all(changes(best(), space_.attention_groups, &Candidate::attention_group));
    attempt_all(changes(best(), space_.placements, &Candidate::placement));
    return best() != before;
  }

  // The same with policy and group changed together: with another group other chunks can be saved.
  bool improve_both() {
    const Candidate before = best();
    for (const Candidate& change : changes(before, space_.policies, &Candidate::activations))
      attempt_all(changes(change, space_.attention_groups, &Candidate::attention_group));
    return best() != before;
  }

  void attempt_all(const Changes& changes) {
    for (const Candidate& change : changes)
      if (!done() && !is_known(change)) attempt_(change);
  }

  Candidate best() const { return best_of(tried_).candidate; }

  bool done() const { return as_good_as_can_be(best_of(tried_)) || is_enough_(); }

  bool is_known(const Candidate& candidate) const {
    return std::ranges::find(tried_, candidate, &Tried::candidate) != tried_.end();
  }

  const SearchSpace& space_;
  const std::vector<Tried>& tried_;
  const Attempt& attempt_;
  const std::function<bool()>& is_enough_;
};

}  // namespace

const Tried& best_of(const std::vector<Tried>& tried) {
  double fastest_s = std::numeric_limits<double>::infinity();
  for (const Tried& each : tried)
    if (each.fits) fastest_s = std::min(fastest_s, each.step_seconds);
  const Tried* best = nullptr;
  const auto rank = [](const Tried& each) {
    return std::tuple(each.nvme_bytes_written, each.host_bytes, each.step_seconds);
  };
  for (const Tried& each : tried) {
    if (!each.fits || each.step_seconds > kNearlyAsFast * fastest_s) continue;
    if (best == nullptr || rank(each) < rank(*best)) best = &each;
  }
  EBBTIDE_CHECK(best != nullptr, "the best of candidates of which none fits");
  return *best;
}

void search(const SearchSpace& space, const std::vector<Tried>& tried, const Attempt& attempt,
            const std::function<bool()>& is_enough) {
  Search(space, tried, attempt, is_enough).run();
}

}  // namespace ebbtide::train
