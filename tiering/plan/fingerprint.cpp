#include <xxhash.h>

#include <array>
#include <memory>
#include <type_traits>

#include "ebbtide/plan.hpp"

namespace ebbtide {
namespace {

class Hash {
 public:
  Hash() : state_(XXH3_createState(), XXH3_freeState) { XXH3_64bits_reset(state_.get()); }
  template <typename T>
  void add(const T& item) {
    static_assert(std::has_unique_object_representations_v<T>);
    XXH3_64bits_update(state_.get(), &item, sizeof(item));
  }
  std::uint64_t digest() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

}  // namespace

std::uint64_t fingerprint(const Plan& plan) {
  Hash hash;
  for (const auto& lane : plan.tasks) {
    for (const Task& task : lane) {
      hash.add(task.first);
      hash.add(task.waits_begin);
      hash.add(std::array<std::uint32_t, 3>{task.count, task.wait_count, task.kind_bits});
    }
  }
  for (const Wait& wait : plan.waits) hash.add(std::array<std::uint32_t, 2>{wait.lane, wait.count});
  for (const Segment& segment : plan.segments)
    hash.add(std::array<std::uint64_t, 3>{segment.from, segment.to, segment.value});
  for (const std::uint32_t units : plan.operand_units) hash.add(units);
  return hash.digest();
}

}  // namespace ebbtide
