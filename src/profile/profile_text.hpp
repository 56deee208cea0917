// A profile for people: a verdict in a sentence or two, then tables.
#pragma once

#include <string>

#include "src/profile/profile.hpp"

namespace ebbtide::profile {

std::string verdict_text(const Profile& profile);
// By lane, by cause, by layer (the worst few), measured beside predicted; then all advice.
std::string tables_text(const Profile& profile);

}  // namespace ebbtide::profile
