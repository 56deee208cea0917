// What tuning came to, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "src/tune/tune.hpp"

namespace ebbtide::tune {

// A table of start and candidates, predicted beside measured, then what was gained and the flags to
// paste. Ends with a newline.
std::string text(const Outcome& outcome);

// One object on one line. `profile`: the file that was written.
std::string json(const Outcome& outcome, const std::string& profile);

// For the head of a profile.
std::vector<std::string> notes(const Outcome& outcome);

}  // namespace ebbtide::tune
