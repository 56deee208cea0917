// The fit of efficiencies on timings whose parameters are known.
#include "src/measure/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ebbtide/error.hpp"

namespace ebbtide::measure {
namespace {

using hardware::Efficiency;

double of_peak(const Efficiency& efficiency, double work) {
  return efficiency.peak_fraction * work / (work + efficiency.half);
}

std::vector<Speed> speeds_of(const Efficiency& efficiency) {
  std::vector<Speed> speeds;
  for (double work = 1e6; work < 1e12; work *= 7)
    speeds.push_back({work, of_peak(efficiency, work)});
  return speeds;
}

double squared_error(const Efficiency& efficiency, const std::vector<Speed>& speeds) {
  double sum = 0;
  for (const Speed& speed : speeds)
    sum += std::pow(speed.of_peak / of_peak(efficiency, speed.work) - 1, 2);
  return sum;
}

TEST(Fit, RecoversWhatMadeTheTimings) {
  for (const double fraction : {0.03, 0.5, 1.0}) {
    for (const double half : {0.0, 1e5, 3e8, 1e10}) {
      const Efficiency fitted = fit_efficiency(speeds_of({fraction, half}));
      EXPECT_NEAR(fitted.peak_fraction, fraction, 1e-6 * fraction) << half;
      EXPECT_NEAR(fitted.half, half, 1e-6 * half + 1) << fraction;
    }
  }
}

TEST(Fit, IsTheBestWithNoise) {
  std::vector<Speed> speeds = speeds_of({0.7, 2e8});
  for (std::size_t at = 0; at < speeds.size(); ++at)
    speeds[at].of_peak *= at % 2 == 0 ? 1.05 : 0.95;
  const Efficiency fitted = fit_efficiency(speeds);
  const double least = squared_error(fitted, speeds);
  for (const double factor : {0.97, 1.03}) {
    EXPECT_GT(squared_error({factor * fitted.peak_fraction, fitted.half}, speeds), least);
    EXPECT_GT(squared_error({fitted.peak_fraction, factor * fitted.half}, speeds), least);
  }
}

// A cache that serves small ops faster than large ones: no half describes it.
TEST(Fit, HasNoHalfWhereSmallOpsAreFaster) {
  const std::vector<Speed> speeds{{1e6, 0.9}, {1e7, 0.8}, {1e8, 0.5}, {1e9, 0.5}};
  const Efficiency fitted = fit_efficiency(speeds);
  EXPECT_EQ(fitted.half, 0);
  EXPECT_GT(fitted.peak_fraction, 0.5);
  EXPECT_LT(fitted.peak_fraction, 0.9);
}

TEST(Fit, StaysWithinThePeak) {
  const Efficiency fitted = fit_efficiency(speeds_of({1.4, 1e8}));
  EXPECT_EQ(fitted.peak_fraction, 1);
  EXPECT_GT(fitted.half, 0);
  EXPECT_EQ(fit_efficiency(std::vector<Speed>{{1e6, 2}, {1e7, 2}}).peak_fraction, 1);
}

TEST(Fit, TakesOneSize) {
  const Efficiency fitted = fit_efficiency(std::vector<Speed>{{1e6, 0.4}, {1e6, 0.4}});
  EXPECT_NEAR(fitted.peak_fraction, 0.4, 1e-9);
  EXPECT_EQ(fitted.half, 0);
}

TEST(Fit, RefusesWhatIsNoSpeed) {
  EXPECT_THROW(fit_efficiency({}), ContractViolation);
  EXPECT_THROW(fit_efficiency(std::vector<Speed>{{1e6, 0}}), ContractViolation);
}

}  // namespace
}  // namespace ebbtide::measure
