// Samples, and what is read from them.
#include "src/measure/sampling.hpp"

#include <gtest/gtest.h>

#include "ebbtide/error.hpp"

namespace ebbtide::measure {
namespace {

TEST(Sampling, QuantilesAreValuesThatWereSeen) {
  const std::vector<double> values{5, 1, 4, 2, 3};
  EXPECT_EQ(quantile(values, 0.5), 3);
  EXPECT_EQ(quantile(values, 0.99), 5);
  EXPECT_EQ(quantile(values, 0.2), 1);
  EXPECT_EQ(quantile({1, 2}, 0.5), 1);
  EXPECT_EQ(quantile({7}, 0.99), 7);
  std::vector<double> hundred;
  for (int i = 1; i <= 100; ++i) hundred.push_back(i);
  EXPECT_EQ(quantile(hundred, 0.99), 99);
  EXPECT_THROW(quantile({}, 0.5), ContractViolation);
}

TEST(Sampling, RunsOnceWhateverTheTime) {
  int runs = 0;
  EXPECT_GT(median_seconds([&] { ++runs; }, 0, {}), 0);
  EXPECT_EQ(runs, 1);
}

TEST(Sampling, EndsWhenItIsStopped) {
  std::stop_source stop;
  int runs = 0;
  const auto run = [&] {
    if (++runs == 3) stop.request_stop();
  };
  try {
    median_seconds(run, 1e9, stop.get_token());
    FAIL() << "it was not stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::kCancelled));
  }
  EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace ebbtide::measure
