// For builds without Clp: tests that need it are skipped, visibly.
#include "ebbtide/error.hpp"
#include "tests/plan/relaxed_traffic.hpp"

namespace ebbtide::plan_test {

bool can_relax() {
  return false;
}

std::optional<double> relaxed_traffic(const DeviceStays&, const Program&, std::uint64_t) {
  EBBTIDE_CHECK(can_relax(), "no solver of linear programs");
  return std::nullopt;
}

}  // namespace ebbtide::plan_test
