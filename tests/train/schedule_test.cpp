#include "src/train/schedule.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "ebbtide/error.hpp"

namespace ebbtide::train {
namespace {

Schedule of(Decay decay) {
  return {.peak = 1e-3, .minimum = 1e-4, .warmup_steps = 10, .total_steps = 110, .decay = decay};
}

TEST(Schedule, WarmUpRisesLinearlyToThePeak) {
  for (const Decay decay : {Decay::kConstant, Decay::kLinear, Decay::kCosine}) {
    EXPECT_DOUBLE_EQ(learning_rate(of(decay), 1), 1e-4);
    EXPECT_DOUBLE_EQ(learning_rate(of(decay), 5), 5e-4);
    EXPECT_DOUBLE_EQ(learning_rate(of(decay), 10), 1e-3);
  }
}

TEST(Schedule, ConstantStaysAtThePeak) {
  for (const std::int64_t step : {11, 60, 110, 1000})
    EXPECT_DOUBLE_EQ(learning_rate(of(Decay::kConstant), step), 1e-3);
}

TEST(Schedule, LinearFallsToTheMinimumAtTheLastStepAndStays) {
  EXPECT_DOUBLE_EQ(learning_rate(of(Decay::kLinear), 35), 1e-3 - 0.25 * 9e-4);
  EXPECT_DOUBLE_EQ(learning_rate(of(Decay::kLinear), 60), 5.5e-4);
  EXPECT_DOUBLE_EQ(learning_rate(of(Decay::kLinear), 110), 1e-4);
  EXPECT_DOUBLE_EQ(learning_rate(of(Decay::kLinear), 5000), 1e-4);
}

TEST(Schedule, CosineFallsSlowlyThenFastThenSlowly) {
  // 1e-4 + 9e-4 (1 + cos(pi p)) / 2 at p = 1/4 and 3/4: (1 + sqrt(1/2)) / 2 and its complement.
  EXPECT_NEAR(learning_rate(of(Decay::kCosine), 35), 1e-4 + 9e-4 * 0.85355339059327378, 1e-15);
  EXPECT_NEAR(learning_rate(of(Decay::kCosine), 60), 5.5e-4, 1e-15);
  EXPECT_NEAR(learning_rate(of(Decay::kCosine), 85), 1e-4 + 9e-4 * 0.14644660940672624, 1e-15);
  EXPECT_NEAR(learning_rate(of(Decay::kCosine), 110), 1e-4, 1e-15);
  EXPECT_NEAR(learning_rate(of(Decay::kCosine), 5000), 1e-4, 1e-15);
}

TEST(Schedule, NeedsNoWarmUpAndAllowsOneOfAllSteps) {
  Schedule schedule = of(Decay::kLinear);
  schedule.warmup_steps = 0;
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 11), 1e-3 - 0.1 * 9e-4);
  schedule.warmup_steps = schedule.total_steps;
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 110), 1e-3);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 111), 1e-4);
}

TEST(Schedule, WhatCannotBeMeantIsBadUsage) {
  EXPECT_NO_THROW(check(of(Decay::kCosine)));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (const Schedule& bad :
       {Schedule{.peak = -1}, Schedule{.peak = nan}, Schedule{.peak = inf},
        Schedule{.peak = 1e-3, .minimum = 2e-3}, Schedule{.minimum = -1}, Schedule{.minimum = nan},
        Schedule{.warmup_steps = -1}, Schedule{.total_steps = 0}})
    EXPECT_THROW(check(bad), Error);
}

TEST(Schedule, StepsCountFromOne) {
  EXPECT_THROW(learning_rate(of(Decay::kLinear), 0), ContractViolation);
}

}  // namespace
}  // namespace ebbtide::train
