// Findings for people and for programs.
#pragma once

#include <cstddef>
#include <string>

#include "src/doctor/finding.hpp"

namespace ebbtide::doctor {

enum class Colours : std::uint8_t { kNone, kAnsi };

struct Page {
  std::size_t columns = 100;
  Colours colours = Colours::kNone;
};

// Grouped by verdict, the worst first, wrapped to the page. Requires findings in that order.
std::string text(const Findings& findings, const Page& page);

// {"verdict": the worst, "findings": [{"check", "subject", "verdict", "found", "meaning",
// "remedy"}]}, on one line.
std::string json(const Findings& findings);

}  // namespace ebbtide::doctor
