// The time of a section, and who gets it.
#include "src/measure/pace.hpp"

#include <gtest/gtest.h>

#include "ebbtide/error.hpp"

namespace ebbtide::measure {
namespace {

TEST(Pace, GivesAllThatIsLeftInEqualParts) {
  std::string told;
  Pace pace("copies", 1e6, {}, [&](const std::string& section, const std::string& what) {
    told = section + ": " + what;
  });
  pace.expect(3);
  pace.expect(1);
  EXPECT_NEAR(pace.begin("64 MiB"), 1e6 / 4, 1e4);  // no test takes 40,000 s
  EXPECT_EQ(told, "copies: 64 MiB");
  pace.skip(1);
  EXPECT_NEAR(pace.begin("again"), 1e6 / 2, 1e4);
  EXPECT_NEAR(pace.begin("the last"), 1e6, 1e4);
  EXPECT_THROW(pace.begin("more than expected"), ContractViolation);
}

TEST(Pace, GivesNothingOnceTimeIsUp) {
  Pace pace("copies", 0, {}, [](const std::string&, const std::string&) {});
  pace.expect(1);
  EXPECT_EQ(pace.begin("late"), 0);
}

TEST(Pace, EndsWhenItIsStopped) {
  std::stop_source stop;
  Pace pace("copies", 1, stop.get_token(), [](const std::string&, const std::string&) {});
  pace.expect(2);
  pace.begin("before");
  stop.request_stop();
  EXPECT_THROW(pace.begin("after"), Error);
}

}  // namespace
}  // namespace ebbtide::measure
