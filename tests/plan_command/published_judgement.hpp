// What each published case is good for, and whether what we predict of it holds. The tests and
// docs/published.md both come from here, so that the page claims nothing that is not tested.
#pragma once

#include <cstdint>
#include <string>

#include "tests/plan_command/published_cases.hpp"

namespace ebbtide::test {

enum class Purpose : std::uint8_t {
  kBytes,       // exact, as far as digits are printed
  kVerdict,     // fits or does not
  kFraction,    // of tokens, within 0.002
  kFitted,      // a time that efficiencies are fitted on
  kTime,        // within 10 %
  kTimeBound,   // predicted <= published
  kLongest,     // fits at this length
  kNotClaimed,  // something is predicted, but the source leaves open what decides
  kNone,
};
std::string_view name(Purpose purpose);

struct UseOfCase {
  Purpose purpose = Purpose::kNone;
  std::string note;  // for the page: what is open, how it is predicted, or why it is not used
};
// Throws std::runtime_error for a case that nobody has said it of.
const UseOfCase& use_of(const PublishedCase& of);

struct Judgement {
  std::string predicted;
  std::string verdict;  // "exact", "right", a ratio, ...
  bool holds = true;    // true where nothing is claimed
};
// Blocks for about a second where a run is planned.
Judgement judge(const PublishedCase& of);

}  // namespace ebbtide::test
