// How much more than it must the planner moves between device and host: small random programs
// against their exact optimum.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <string>

#include "tests/plan/exact_traffic.hpp"
#include "tests/plan/random_program.hpp"
#include "tests/plan/traffic_ratio.hpp"

namespace ebbtide::plan_test {
namespace {

constexpr std::uint64_t kPrograms = 300;
constexpr double kWithin = 1.10;

// No value is asked to leave, which would be traffic by command. Sizes are near each other, so that
// several values have to share what room there is. Collectives would be device ops to the optimum.
constexpr RandomShape kNearSizes{.ops_min = 20,
                                 .ops_max = 40,
                                 .size_min_bytes = 4096,
                                 .size_max_bytes = 32 << 10,
                                 .leave_chance = 0,
                                 .comm_chance = 0};
constexpr RandomShape kAllSizes{
    .ops_min = 20, .ops_max = 40, .size_min_bytes = 1, .leave_chance = 0, .comm_chance = 0};

struct Tally {
  double moved_bytes = 0;
  double least_bytes = 0;
  double unavoidable_bytes = 0;
  double sum_of_ratios = 0;
  int programs = 0;
  int above = 0;  // programs whose own ratio is above the bound
  double worst = 0;
  std::uint64_t worst_seed = 0;

  double ratio() const { return moved_bytes / least_bytes; }

  void add(std::uint64_t seed, double moved, double least) {
    const double own = moved == least ? 1 : moved / std::max(least, 1.0);
    moved_bytes += moved;
    least_bytes += least;
    sum_of_ratios += own;
    ++programs;
    above += own > kWithin;
    if (own > worst) {
      worst = own;
      worst_seed = seed;
    }
  }

  std::string text() const {
    char line[200];
    std::snprintf(line, sizeof line,
                  "%.3f over all, mean %.3f, worst %.2f (seed %d), %d of %d above %.2f; %.0f %% of "
                  "the optimum is unavoidable",
                  ratio(), sum_of_ratios / programs, worst, static_cast<int>(worst_seed), above,
                  programs, kWithin, 100 * unavoidable_bytes / least_bytes);
    return line;
  }
};

struct Setting {
  const char* name;
  RandomShape shape;
  HardwareModel hardware;
  Prefetch prefetch;
};

void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.name;
}

Tally tally(const Setting& setting) {
  Tally all;
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    const Program program = random_program(seed, setting.shape);
    const double slack = 1 + static_cast<double>(seed % 11) * 0.05;
    const auto device_bytes =
        static_cast<std::uint64_t>(slack * static_cast<double>(smallest_device_budget(program)));
    const Budgets budgets{device_bytes, std::uint64_t{1} << 40, std::uint64_t{1} << 40};
    const Plan plan = make_plan(program, budgets, setting.hardware, options_with(setting.prefetch));
    const Verdict verdict = verify(program, plan);
    EXPECT_TRUE(verdict.ok()) << "seed " << seed << ": " << verdict.message;
    const auto least = exact_traffic(program, device_bytes);
    if (!least) {
      ADD_FAILURE() << "no optimum of seed " << seed;
      continue;
    }
    const double moved = device_traffic_bytes(plan);
    EXPECT_GE(moved, static_cast<double>(*least)) << "better than the optimum: seed " << seed;
    all.add(seed, moved, static_cast<double>(*least));
    all.unavoidable_bytes += static_cast<double>(device_stays(program).unavoidable_bytes);
  }
  return all;
}

class TrafficOfSmallPrograms : public testing::TestWithParam<Setting> {};

TEST_P(TrafficOfSmallPrograms, IsWithinATenthOfTheOptimum) {
  const Tally all = tally(GetParam());
  RecordProperty("traffic", all.text());
  std::printf("%s: %s\n", GetParam().name, all.text().c_str());
  EXPECT_LE(all.ratio(), kWithin);
  EXPECT_LE(all.sum_of_ratios / all.programs, kWithin);
  // The set has something to decide.
  EXPECT_LE(all.unavoidable_bytes, 0.8 * all.least_bytes);
}

INSTANTIATE_TEST_SUITE_P(
    Settings, TrafficOfSmallPrograms,
    testing::Values(Setting{"NearSizesOnACpu", kNearSizes, generic_cpu_hardware(), Prefetch::kAuto},
                    Setting{"NearSizesOnACpuWithoutPrefetch", kNearSizes, generic_cpu_hardware(),
                            Prefetch::kNone},
                    Setting{"NearSizesOnACard", kNearSizes, card_hardware(), Prefetch::kAuto},
                    Setting{"NearSizesOnACardWithoutPrefetch", kNearSizes, card_hardware(),
                            Prefetch::kNone},
                    Setting{"AllSizesOnACpu", kAllSizes, generic_cpu_hardware(), Prefetch::kAuto},
                    Setting{"AllSizesOnACard", kAllSizes, card_hardware(), Prefetch::kAuto}),
    [](const auto& setting) { return setting.param.name; });

}  // namespace
}  // namespace ebbtide::plan_test
