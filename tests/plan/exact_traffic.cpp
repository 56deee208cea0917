#include "tests/plan/exact_traffic.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ebbtide/error.hpp"

namespace ebbtide::plan_test {
namespace {

constexpr std::size_t kMostValues = 64;

// Values, a bit each.
using Values = std::uint64_t;

constexpr Values bit(ValueId value) {
  return Values{1} << value;
}

// What is open between two steps.
struct Sets {
  Values kept = 0;    // in a stay that is kept
  Values stored = 0;  // of the open stays' values, those whose version has a copy below
  bool operator==(const Sets&) const = default;
};

struct Hash {
  std::size_t operator()(const Sets& sets) const {
    return (sets.kept * 0x9e3779b97f4a7c15U) ^ (sets.stored * 0xc2b2ae3d27d4eb4fU >> 7);
  }
};

using Costs = std::unordered_map<Sets, std::uint64_t, Hash>;

class Search {
 public:
  Search(const Program& program, std::uint64_t device_bytes, std::size_t most_sets)
      : program_(program),
        open_(device_stays(program)),
        most_sets_(most_sets),
        begins_(open_.operand_bytes.size()),
        ends_(open_.operand_bytes.size()),
        last_stay_of_store_(open_.stores.size(), 0) {
    EBBTIDE_CHECK(program.value_count() <= kMostValues, "a program of more than 64 values");
    room_bytes_ = device_bytes - std::min(device_bytes, open_.home_bytes);
    for (std::uint32_t i = 0; i < open_.stays.size(); ++i) {
      begins_[open_.stays[i].from].push_back(i);
      ends_[open_.stays[i].to] |= bit(open_.stays[i].value);
      if (open_.stays[i].store != Stay::kNoStore) last_stay_of_store_[open_.stays[i].store] = i;
    }
  }

  std::optional<std::uint64_t> run() {
    Costs costs{{Sets{}, open_.unavoidable_bytes}};
    for (std::uint32_t step = 0; step < begins_.size(); ++step) {
      costs = after_step(costs, step);
      for (const std::uint32_t stay : begins_[step]) costs = after_choice(costs, stay);
      if (costs.empty() || costs.size() > most_sets_) return std::nullopt;
    }
    return std::ranges::min_element(costs, {}, &Costs::value_type::second)->second;
  }

 private:
  static void offer(Costs& costs, const Sets& sets, std::uint64_t bytes) {
    const auto [at, is_new] = costs.try_emplace(sets, bytes);
    if (!is_new) at->second = std::min(at->second, bytes);
  }

  std::uint64_t extents(Values values) const {
    std::uint64_t sum = 0;
    for (ValueId value = 0; value < program_.value_count(); ++value)
      if ((values & bit(value)) != 0)
        sum += extent(program_.value(value).size_bytes, Tier::kDevice);
    return sum;
  }

  // Those that fit while the step runs; stays that end at it are over.
  Costs after_step(const Costs& before, std::uint32_t step) const {
    Costs after;
    for (const auto& [sets, bytes] : before) {
      const Values kept = sets.kept & ~ends_[step];
      if (open_.operand_bytes[step] + extents(kept) <= room_bytes_)
        offer(after, {kept, sets.stored}, bytes);
    }
    return after;
  }

  Costs after_choice(const Costs& before, std::uint32_t id) const {
    const Stay& stay = open_.stays[id];
    const Values value = bit(stay.value);
    const std::uint64_t load_bytes = program_.value(stay.value).size_bytes;
    // A store is remembered as long as a later stay of its version could need it.
    const bool has_store = stay.store != Stay::kNoStore;
    const Values forgotten = has_store && last_stay_of_store_[stay.store] == id ? value : 0;
    Costs after;
    for (const auto& [sets, bytes] : before) {
      offer(after, {sets.kept | value, sets.stored & ~forgotten}, bytes);
      if (!stay.optional) continue;
      const bool stores = has_store && (sets.stored & value) == 0;
      offer(after, {sets.kept, (has_store ? sets.stored | value : sets.stored) & ~forgotten},
            bytes + load_bytes + (stores ? open_.stores[stay.store] : 0));
    }
    return after;
  }

  const Program& program_;
  const DeviceStays open_;
  const std::size_t most_sets_;
  std::uint64_t room_bytes_ = 0;
  std::vector<std::vector<std::uint32_t>> begins_;  // stays that begin, by step
  std::vector<Values> ends_;                        // values whose stay ends, by step
  std::vector<std::uint32_t> last_stay_of_store_;
};

}  // namespace

std::optional<std::uint64_t> exact_traffic(const Program& program, std::uint64_t device_bytes,
                                           std::size_t most_sets) {
  return Search(program, device_bytes, most_sets).run();
}

}  // namespace ebbtide::plan_test
