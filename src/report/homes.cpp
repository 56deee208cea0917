#include "src/report/homes.hpp"

#include <set>
#include <utility>

namespace ebbtide::report {

PerTier<BytesByName> homes_by_name(std::span<const Program* const> programs) {
  PerTier<BytesByName> bytes;
  std::set<std::pair<Tier, std::uint64_t>> seen;
  for (const Program* program : programs) {
    for (ValueId id = 0; id < program->value_count(); ++id) {
      const Home* home = program->home(id);
      if (home == nullptr || !seen.emplace(home->tier, home->address).second) continue;
      const ValueKind& kind = program->kind(program->value(id).kind);
      bytes[index(home->tier)][kind.category][kind.name] += extent(home->size_bytes, home->tier);
    }
  }
  return bytes;
}

}  // namespace ebbtide::report
