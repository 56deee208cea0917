#include "tiering/execute/step.hpp"

#include <cstring>

namespace ebbtide::execute {

void poison(Step& step, const Fill& fill) {
  std::memset(step.memory(fill.tier).data() + fill.offset, 0xFF, fill.size_bytes);
  step.poisoned_bytes.fetch_add(fill.size_bytes, std::memory_order_relaxed);
}

void poison(Step& step, Lane lane, std::uint32_t task, Moment moment) {
  if (step.releases == nullptr) return;
  for (const Fill& fill : step.releases->of(lane, task, moment)) poison(step, fill);
}

}  // namespace ebbtide::execute
