// A profile for programs: one JSON object, whose numbers have enough digits to round-trip. What
// `--log-json` of a run and `plan --json` say too has the same names.
#pragma once

#include <nlohmann/json.hpp>

#include "src/profile/profile.hpp"

namespace ebbtide::profile {

nlohmann::ordered_json to_json(const Profile& profile);

}  // namespace ebbtide::profile
