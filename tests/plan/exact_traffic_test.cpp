// The optimum that the planner is held to: of programs that can be worked out by hand, and of
// random ones by trying everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "ebbtide/plan.hpp"
#include "tests/plan/exact_traffic.hpp"
#include "tests/plan/random_program.hpp"

namespace ebbtide::plan_test {
namespace {

constexpr std::uint64_t kBytes = 1024;

// Values of kBytes each; ops on the device unless said otherwise.
struct Draft {
  Program program;
  HomeLayout layout;
  KindId kind = program.add_kind({.name = "value", .category = "values", .resident_limit = {}});
  KernelId device = program.add_kernel({.name = "op", .place = Place::kDevice, .run = {}});
  KernelId host = program.add_kernel({.name = "host op", .place = Place::kHost, .run = {}});

  ValueId value(Reach reach = Reach::kAny) {
    return program.add_value({.size_bytes = kBytes, .kind = kind, .reach = reach});
  }
  ValueId value_at_home(Tier tier) {
    const ValueId id = program.add_value({.kind = kind}, layout.add(kBytes, tier));
    program.set_home_bytes(layout.bytes());
    return id;
  }
  void op(std::vector<Use> uses) { program.add_op(device, uses, {}, {}); }
  void host_op(std::vector<Use> uses) { program.add_op(host, uses, {}, {}); }
  // In multiples of kBytes.
  std::optional<std::uint64_t> least(std::uint64_t room) const {
    const auto bytes = exact_traffic(program, room * kBytes);
    return bytes ? std::optional(*bytes / kBytes) : std::nullopt;
  }
};

TEST(ExactTraffic, IsNothingWhereAllFits) {
  Draft draft;
  const ValueId a = draft.value(), b = draft.value();
  draft.op({write(a)});
  draft.op({write(b)});
  draft.op({read(a), read(b)});
  EXPECT_EQ(draft.least(2), 0U);
  EXPECT_EQ(draft.least(1), std::nullopt);
}

TEST(ExactTraffic, StoresAVersionOnceAndLoadsItForEachAbsence) {
  Draft draft;
  const ValueId a = draft.value(), b = draft.value(), c = draft.value();
  draft.op({write(a)});
  for (int i = 0; i < 3; ++i) {
    draft.op({write(b), write(c)});
    draft.op({read(a)});
  }
  EXPECT_EQ(draft.least(2), 1U + 3U);
  EXPECT_EQ(draft.least(3), 0U);
}

TEST(ExactTraffic, StoresEachVersionOfAnUpdatedValue) {
  Draft draft;
  const ValueId a = draft.value(), b = draft.value(), c = draft.value();
  draft.op({write(a)});
  for (int i = 0; i < 3; ++i) {
    draft.op({write(b), write(c)});
    draft.op({update(a)});
  }
  EXPECT_EQ(draft.least(2), 3U + 3U);
}

TEST(ExactTraffic, DropsWhatHasACopyBelowAndWhatIsWrittenOver) {
  Draft draft;
  const ValueId a = draft.value_at_home(Tier::kHost), b = draft.value(), c = draft.value();
  draft.op({read(a), write(b)});
  draft.op({write(b), write(c)});
  draft.op({read(a), write(b)});
  EXPECT_EQ(draft.least(2), 2U);
  EXPECT_EQ(draft.least(3), 1U);
}

TEST(ExactTraffic, KeepsWhatIsDearestToBringBack) {
  Draft draft;
  const ValueId dirty = draft.value(), clean = draft.value_at_home(Tier::kHost), c = draft.value();
  draft.op({write(dirty), read(clean)});
  draft.op({write(c)});
  draft.op({write(c)});
  draft.op({read(dirty), read(clean)});
  EXPECT_EQ(draft.least(2), 1U + 1U);  // the clean one leaves, without a store
}

TEST(ExactTraffic, CountsWhatOpsOnTheHostReadAndWrite) {
  Draft draft;
  const ValueId a = draft.value(), home = draft.value_at_home(Tier::kDevice);
  draft.op({write(a), read(home)});
  draft.host_op({read(a)});       // a goes down
  draft.host_op({update(home)});  // home goes down, and up at the end
  draft.op({read(a)});            // is still there
  draft.host_op({update(a)});     // needs no store
  draft.op({read(a)});            // comes up
  EXPECT_EQ(draft.least(2), 1U + 2U + 1U);
}

TEST(ExactTraffic, NeverMovesWhatMayNotLeave) {
  Draft draft;
  const ValueId a = draft.value(Reach::kDevice), b = draft.value(), c = draft.value();
  draft.op({write(a)});
  draft.op({write(b), write(c)});
  draft.op({read(a)});
  EXPECT_EQ(draft.least(2), std::nullopt);
  EXPECT_EQ(draft.least(3), 0U);
}

// All choices, one by one.
std::optional<std::uint64_t> by_trying_all(const Program& program, std::uint64_t device_bytes) {
  const DeviceStays open = device_stays(program);
  std::optional<std::uint64_t> least;
  for (std::uint32_t kept = 0; kept < 1U << open.stays.size(); ++kept) {
    std::uint64_t bytes = open.unavoidable_bytes;
    std::vector<std::uint64_t> held = open.operand_bytes;
    std::vector<bool> stored(open.stores.size(), false);
    bool fits = true;
    for (std::uint32_t i = 0; i < open.stays.size(); ++i) {
      const Stay& stay = open.stays[i];
      const std::uint64_t size = program.value(stay.value).size_bytes;
      if ((kept >> i & 1U) != 0) {
        for (std::uint32_t step = stay.from + 1; step < stay.to; ++step)
          held[step] += extent(size, Tier::kDevice);
        continue;
      }
      fits = fits && stay.optional;
      bytes += size;
      if (stay.store != Stay::kNoStore) stored[stay.store] = true;
    }
    for (std::size_t j = 0; j < stored.size(); ++j) bytes += stored[j] ? open.stores[j] : 0;
    for (const std::uint64_t at_step : held)
      fits = fits && open.home_bytes + at_step <= device_bytes;
    if (fits && (!least || bytes < *least)) least = bytes;
  }
  return least;
}

TEST(ExactTraffic, IsTheLeastOfAllChoices) {
  int tried = 0, with_choice = 0;
  for (std::uint64_t seed = 0; tried < 100; ++seed) {
    const Program program =
        random_program(seed, {.ops_min = 8, .ops_max = 20, .size_max_bytes = 4096});
    if (device_stays(program).stays.size() > 12) continue;
    const std::uint64_t device_bytes = smallest_device_budget(program) * (20 + seed % 5) / 20;
    const auto least = by_trying_all(program, device_bytes);
    ASSERT_EQ(exact_traffic(program, device_bytes), least) << "seed " << seed;
    with_choice += *least > device_stays(program).unavoidable_bytes;
    ++tried;
  }
  EXPECT_GE(with_choice, 10);
}

}  // namespace
}  // namespace ebbtide::plan_test
