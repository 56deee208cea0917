// The tiers that a lane joins.
#pragma once

#include "ebbtide/types.hpp"

namespace ebbtide::execute {

struct Route {
  Tier from = Tier::kDevice;
  Tier to = Tier::kDevice;
};

// Requires a transfer lane, or kCompute for its moves.
Route route(Lane lane);

}  // namespace ebbtide::execute
