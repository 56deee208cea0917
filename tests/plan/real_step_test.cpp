// Whole training steps with the real kernels in hostile orders: the same bits in all of them.
#include "tests/plan/real_step.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/plan/plan_builder.hpp"

namespace ebbtide::plan_test {
namespace {

using model::ActivationMode;

std::uint64_t moved(const RealStep& step, Lane lane) {
  return step.forward_backward().plan.moved_bytes[index(lane)];
}

// The kinds of plan, each with both dtypes and with prefetch 0 and "auto".
std::vector<RealStepSetting> settings() {
  const std::vector<RealStepSetting> kinds{
      {.name = "Host", .activations = {.mode = ActivationMode::kOffload, .reach = Reach::kHost}},
      {.name = "HostAndNvme",
       .activations = {.mode = ActivationMode::kOffload, .reach = Reach::kAny},
       .state = Tier::kHost,
       .room = Room::kTightBoth,
       .group = 2},
      {.name = "TightDevice",
       .activations = {.mode = ActivationMode::kAuto, .reach = Reach::kNvme},
       .state = Tier::kNvme,
       .room = Room::kTightDevice,
       .bucket_bytes = 0},
      {.name = "Recompute",
       .activations = {.mode = ActivationMode::kRecompute, .saved_fraction = 0},
       .state = Tier::kHost,
       .room = Room::kTightDevice,
       .group = 4},
      {.name = "PartsRecomputed",
       .activations = {.mode = ActivationMode::kOffload,
                       .saved_fraction = {0, 0.75, 0.25},
                       .reach = Reach::kNvme},
       .state = Tier::kHost,
       .room = Room::kTightBoth,
       .group = 2}};
  std::vector<RealStepSetting> all;
  for (const RealStepSetting& kind : kinds)
    for (const DType dtype : {DType::kF32, DType::kBf16})
      for (const std::optional<std::uint32_t> prefetch : {std::optional(0U), {}}) {
        RealStepSetting setting = kind;
        setting.dtype = dtype;
        setting.prefetch_chunk_steps = prefetch;
        setting.name += std::string(name(dtype)) + (prefetch ? "Prefetch0" : "PrefetchAuto");
        all.push_back(setting);
      }
  return all;
}

class RealSteps : public ::testing::TestWithParam<RealStepSetting> {};

TEST_P(RealSteps, GiveTheSameBitsIn200HostileOrders) {
  RealStep step(GetParam());
  for (const PlannedStep* planned : {&step.forward_backward(), &step.optimizer()}) {
    const Verdict verdict = verify(planned->program, planned->plan);
    ASSERT_TRUE(verdict.ok()) << verdict.message;
  }
  EXPECT_GT(moved(step, Lane::kH2d), 0U);
  EXPECT_EQ(moved(step, Lane::kNvmeWrite) > 0,
            GetParam().room == Room::kTightBoth || GetParam().state == Tier::kNvme);
  const StepResult right = resident_result(GetParam().dtype);
  EXPECT_GT(loss_of(right), 0);
  EXPECT_GT(gradient_norm_of(right), 0);
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    ASSERT_TRUE(step.result(seed) == right) << "order " << seed;
}

INSTANTIATE_TEST_SUITE_P(EveryKind, RealSteps, ::testing::ValuesIn(settings()),
                         [](const auto& test) { return test.param.name; });

// Whether some of the orders give other bits.
template <typename ResultOf>
bool goes_wrong(const StepResult& right, int orders, ResultOf result_of) {
  for (int order = 0; order < orders; ++order)
    if (result_of(static_cast<std::uint64_t>(order)) != right) return true;
  return false;
}

// Of the plans with fp32 and prefetch "auto", each without one wait of many.
TEST(RealStepsWithoutOneWait, AreRejectedAndGoWrongInSomeOrder) {
  for (const RealStepSetting& setting : settings()) {
    if (setting.dtype != DType::kF32 || setting.prefetch_chunk_steps) continue;
    SCOPED_TRACE(setting.name);
    RealStep step(setting);
    const StepResult right = resident_result(setting.dtype);
    const PlannedStep& first = step.forward_backward();
    const PlannedStep& second = step.optimizer();
    int tried = 0, wrong = 0;
    for (std::size_t wait = 0; wait < first.plan.waits.size(); wait += 7, ++tried) {
      const Plan plan = without_wait(first.plan, wait);
      ASSERT_FALSE(verify(first.program, plan).ok()) << describe_wait(first.plan, wait);
      wrong += goes_wrong(right, 40, [&](std::uint64_t order) {
        return step.result_of_forward_backward(plan, order);
      });
    }
    for (std::size_t wait = 0; wait < second.plan.waits.size(); wait += 7, ++tried) {
      const Plan plan = without_wait(second.plan, wait);
      ASSERT_FALSE(verify(second.program, plan).ok()) << describe_wait(second.plan, wait);
      wrong += goes_wrong(
          right, 40, [&](std::uint64_t order) { return step.result_of_optimizer(plan, order); });
    }
    EXPECT_GE(tried, 10);
    EXPECT_GE(wrong, tried * 9 / 10) << tried;
  }
}

}  // namespace
}  // namespace ebbtide::plan_test
