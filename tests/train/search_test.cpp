// What "auto" comes to: the setting whose simulated step is fastest.
#include "src/train/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "ebbtide/error.hpp"
#include "src/train/choose_plans.hpp"
#include "src/train/resolve_options.hpp"

namespace ebbtide::train {
namespace {

using model::ActivationMode;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

Tried fitting(double seconds, std::uint64_t written, std::uint64_t host) {
  return {.candidate = {.attention_group = static_cast<std::int64_t>(1000 * seconds)},
          .fits = true,
          .step_seconds = seconds,
          .nvme_bytes_written = written,
          .host_bytes = host};
}

TEST(BestOf, IsTheFastest) {
  EXPECT_EQ(best_of({fitting(3, 0, 0), fitting(2, 9, 9), fitting(4, 0, 0)}).step_seconds, 2);
}

TEST(BestOf, WritesLessToNvmeAmongThoseNearlyAsFast) {
  EXPECT_EQ(best_of({fitting(2, 9, 1), fitting(2.009, 8, 5), fitting(2.02, 0, 0)}).step_seconds,
            2.009);
}

TEST(BestOf, HoldsLessOfTheHostAmongThoseThatWriteAsMuch) {
  EXPECT_EQ(best_of({fitting(2, 8, 7), fitting(2.009, 8, 5)}).step_seconds, 2.009);
}

TEST(BestOf, NeverDoesNotFit) {
  EXPECT_EQ(best_of({Tried{}, fitting(2, 0, 0)}).step_seconds, 2);
  EXPECT_THROW(best_of({Tried{}}), ContractViolation);
}

// The demo on a device that is too small to keep everything.
struct Case {
  std::string name;
  std::int64_t seq_len = 8192;
  DType dtype = DType::kF32;
  std::uint64_t device_bytes = 0;
  std::uint64_t host_bytes = 0;
  std::uint64_t nvme_bytes = 0;
  double link_bytes_per_s = 6e9;
};

struct Chosen {
  StepPlans plans;
  std::vector<Tried> tried;
};

class Choice {
 public:
  explicit Choice(const Case& of)
      : budgets_{of.device_bytes, of.host_bytes, of.nvme_bytes}, hardware_(generic_cpu_hardware()) {
    options_.run.seq_len = of.seq_len;
    options_.run.dtype = of.dtype;
    hardware_.d2h.bytes_per_s = hardware_.h2d.bytes_per_s = of.link_bytes_per_s;
    run_.config = model::preset("demo");
    run_.shape = resolve_shape(run_.config, options_);
  }

  Chosen choose() const {
    std::vector<Tried> tried;
    StepPlans plans = choose_plans(run_, options_, 0, budgets_, hardware_,
                                   [&tried](const Tried& each) { tried.push_back(each); });
    return {std::move(plans), std::move(tried)};
  }
  double seconds() const { return best_of(choose().tried).step_seconds; }

  // The shortest step of all settings that the flags can ask for.
  double seconds_of_exhaustive_sweep() {
    double shortest_s = std::numeric_limits<double>::infinity();
    for (const Tier parameters : {Tier::kDevice, Tier::kHost}) {
      options_.memory.parameter_tier = options_.memory.gradient_tier = parameters;
      for (const std::int64_t group : {1, 2, 4, 8}) {
        run_.shape.attention_group = group;
        options_.planning.attention_group = group;
        shortest_s = std::min(shortest_s, shortest_of_policies());
      }
    }
    return shortest_s;
  }

 private:
  double shortest_of_policies() {
    double shortest_s = std::numeric_limits<double>::infinity();
    for (const ActivationMode mode : {ActivationMode::kAuto, ActivationMode::kOffload}) {
      for (const double fraction : {1.0, 0.75, 0.5, 0.25, 0.0}) {
        options_.planning.activations = mode;
        options_.planning.saved_fraction = fraction;
        try {
          shortest_s = std::min(shortest_s, seconds());
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), make_error_code(Errc::kDoesNotFit)) << error.what();
        }
      }
    }
    return shortest_s;
  }

  TrainOptions options_;
  Budgets budgets_;
  HardwareModel hardware_;
  RunModel run_;
};

class SearchCases : public ::testing::TestWithParam<Case> {};

TEST_P(SearchCases, ComeNearTheBestOfASweep) {
  EXPECT_LE(Choice(GetParam()).seconds(), 1.03 * Choice(GetParam()).seconds_of_exhaustive_sweep());
}

TEST_P(SearchCases, AlwaysChooseTheSame) {
  const Chosen first = Choice(GetParam()).choose();
  const Chosen second = Choice(GetParam()).choose();
  ASSERT_EQ(first.tried.size(), second.tried.size());
  EXPECT_EQ(best_of(first.tried).candidate, best_of(second.tried).candidate);
  ASSERT_EQ(first.plans.planned().size(), second.plans.planned().size());
  for (std::size_t i = 0; i < first.plans.planned().size(); ++i)
    EXPECT_EQ(fingerprint(*first.plans.planned()[i].plan),
              fingerprint(*second.plans.planned()[i].plan));
}

TEST_P(SearchCases, GiveThePlansOfTheBestCandidate) {
  Chosen chosen = Choice(GetParam()).choose();
  const Tried& best = best_of(chosen.tried);
  EXPECT_EQ(chosen.plans.recipe().placement, best.candidate.placement);
  EXPECT_EQ(chosen.plans.recipe().activations, best.candidate.activations);
  EXPECT_EQ(chosen.plans.totals(GetParam().seq_len, 1).seconds, best.step_seconds);
}

INSTANTIATE_TEST_SUITE_P(
    Search, SearchCases,
    ::testing::Values(
        Case{.name = "AmpleDevice", .device_bytes = 2048 * kMiB, .host_bytes = 2048 * kMiB},
        Case{.name = "TightDevice", .device_bytes = 64 * kMiB, .host_bytes = 2048 * kMiB},
        Case{.name = "SlowLink",
             .device_bytes = 64 * kMiB,
             .host_bytes = 2048 * kMiB,
             .link_bytes_per_s = 1e8},
        Case{.name = "SlowLinkOfAnAmpleDevice",
             .seq_len = 16384,
             .dtype = DType::kBf16,
             .device_bytes = 300 * kMiB,
             .host_bytes = 2048 * kMiB,
             .link_bytes_per_s = 2e7},
        Case{.name = "TightHost",
             .seq_len = 32768,
             .device_bytes = 48 * kMiB,
             .host_bytes = 160 * kMiB,
             .nvme_bytes = 4096 * kMiB},
        Case{.name = "TightBoth",
             .seq_len = 65536,
             .dtype = DType::kBf16,
             .device_bytes = 300 * kMiB,
             .host_bytes = 400 * kMiB,
             .nvme_bytes = 4096 * kMiB}),
    [](const auto& param) { return param.param.name; });

TEST(Search, KeepsWhereOffloadingIsSlower) {
  const Choice slow(
      {.device_bytes = 1024 * kMiB, .host_bytes = 2048 * kMiB, .link_bytes_per_s = 1e7});
  const Chosen chosen = slow.choose();
  EXPECT_EQ(chosen.plans.recipe().activations.mode, ActivationMode::kKeep);
}

TEST(Search, IsFasterThanItsFirstPlansBehindASlowLink) {
  const Choice slow(
      {.device_bytes = 64 * kMiB, .host_bytes = 2048 * kMiB, .link_bytes_per_s = 1e8});
  const std::vector<Tried> tried = slow.choose().tried;
  const auto first = std::ranges::find(tried, true, &Tried::fits);
  EXPECT_LT(best_of(tried).step_seconds, 0.8 * first->step_seconds);
}

// 52 layers of 64 chunks: too many ops to try whole programs.
TEST(Search, BeginsLargeProgramsWithWhatTwoLayersSay) {
  TrainOptions options;
  options.run.seq_len = 8192;
  options.planning.chunk_tokens = 128;
  RunModel run;
  run.config = model::preset("demo");
  run.config.layers = 52;
  run.shape = resolve_shape(run.config, options);
  HardwareModel hardware = generic_cpu_hardware();
  hardware.d2h.bytes_per_s = hardware.h2d.bytes_per_s = 2e7;
  const Budgets budgets{256 * kMiB, 4096 * kMiB, 0};
  std::vector<Tried> tried;
  choose_plans(run, options, 0, budgets, hardware,
               [&tried](const Tried& each) { tried.push_back(each); });
  const auto first = std::ranges::find(tried, true, &Tried::fits);
  ASSERT_NE(first, tried.end());
  EXPECT_LT(first->candidate.activations.saved_fraction.mlp, 1);  // nothing hides on this link
}

}  // namespace
}  // namespace ebbtide::train
