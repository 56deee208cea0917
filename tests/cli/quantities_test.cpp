#include "src/cli/quantities.hpp"

#include <gtest/gtest.h>

#include <string>

#include "ebbtide/error.hpp"

namespace ebbtide::cli {
namespace {

constexpr Range kAny{};
constexpr Range kPositive{.least = 1};

std::string refusal(const std::function<void()>& parse) {
  try {
    parse();
  } catch (const Error& error) {
    EXPECT_EQ(exit_status(error.code()), 2);
    return error.what();
  }
  return "accepted";
}
std::string size_refusal(const std::string& text) {
  return refusal([&] { parse_size("--size", text, kPositive); });
}
std::string count_refusal(const std::string& text) {
  return refusal([&] { parse_count("--count", text, kPositive); });
}

TEST(Sizes, AreBytesOrTakeAUnit) {
  EXPECT_EQ(parse_size("--size", "65536", kAny), 65536U);
  EXPECT_EQ(parse_size("--size", "64KiB", kAny), 65536U);
  EXPECT_EQ(parse_size("--size", "3MiB", kAny), 3U << 20);
  EXPECT_EQ(parse_size("--size", "24GiB", kAny), std::uint64_t{24} << 30);
  EXPECT_EQ(parse_size("--size", "0", kAny), 0U);
  EXPECT_EQ(parse_size("--size", "9223372036854775807", kAny), std::uint64_t{INT64_MAX});
}

TEST(Sizes, AreRefusedWithTheFlagAndAHint) {
  EXPECT_EQ(size_refusal("0"), "--size '0': must be at least 1 bytes");
  EXPECT_NE(size_refusal("-1").find("is negative"), std::string::npos);
  EXPECT_NE(size_refusal("").find("is empty"), std::string::npos);
  EXPECT_NE(size_refusal("64K").find("write 64KiB"), std::string::npos);
  EXPECT_NE(size_refusal("2G").find("write 2GiB"), std::string::npos);
  EXPECT_NE(size_refusal("1e9").find("unknown unit 'e9'"), std::string::npos);
  EXPECT_NE(size_refusal("1.5GiB").find("unknown unit '.5GiB'"), std::string::npos);
  EXPECT_NE(size_refusal("64 KiB").find("unknown unit"), std::string::npos);
  EXPECT_NE(size_refusal("+1").find("is not a number"), std::string::npos);
  EXPECT_NE(size_refusal("lots").find("is not a number"), std::string::npos);
}

TEST(Sizes, PastTheLargestAreRefusedWithAndWithoutUnit) {
  for (const char* text : {"9223372036854775808", "18446744073709551615", "18446744073709551616",
                           "8589934592GiB", "99999999999999999999999GiB"})
    EXPECT_NE(size_refusal(text).find("past 2^63 - 1"), std::string::npos) << text;
  EXPECT_EQ(parse_size("--size", "8589934591GiB", kAny), std::uint64_t{8589934591} << 30);
}

TEST(Sizes, KeepToTheirRange) {
  EXPECT_EQ(parse_size("--size", "4KiB", {.least = 4096, .most = 8192}), 4096U);
  EXPECT_THROW(parse_size("--size", "4095", {.least = 4096, .most = 8192}), Error);
  EXPECT_THROW(parse_size("--size", "8193", {.least = 4096, .most = 8192}), Error);
}

TEST(Counts, TakeKAndM) {
  EXPECT_EQ(parse_count("--count", "8K", kAny), 8192);
  EXPECT_EQ(parse_count("--count", "1M", kAny), 1048576);
  EXPECT_EQ(parse_count("--count", "7", kAny), 7);
}

TEST(Counts, AreRefusedWithTheFlagAndAHint) {
  EXPECT_EQ(count_refusal("0"), "--count '0': must be at least 1");
  for (const char* text : {"-1", "", "64KiB", "1e9", "8k", " 8", "8 ", "0x10"})
    EXPECT_NE(count_refusal(text).find("counts are whole numbers"), std::string::npos) << text;
  for (const char* text : {"9223372036854775808", "18446744073709551616", "8796093022208M"})
    EXPECT_NE(count_refusal(text).find("past 2^63 - 1"), std::string::npos) << text;
}

TEST(Rates, AreSizesASecond) {
  EXPECT_EQ(parse_rate("--rate", "11GiB/s"), 11.0 * (1 << 30));
  for (const char* text : {"11GiB", "0/s", "/s", "", "11GiB/m", "-1GiB/s"})
    EXPECT_THROW(parse_rate("--rate", text), Error) << text;
}

TEST(Numbers, AreFiniteAndInRange) {
  const NumberRange range{.least = 0, .most = 1};
  EXPECT_EQ(parse_number("--number", "0.25", range), 0.25);
  EXPECT_EQ(parse_number("--number", "1e-3", range), 1e-3);
  for (const char* text : {"", "nan", "inf", "-0.1", "1.1", "0.5x", "1e400"})
    EXPECT_THROW(parse_number("--number", text, range), Error) << text;
}

TEST(Durations, AreSecondsMinutesOrHours) {
  const NumberRange range{.least = 1, .most = 7200};
  EXPECT_EQ(parse_duration("--time", "90", range), 90);
  EXPECT_EQ(parse_duration("--time", "1.5s", range), 1.5);
  EXPECT_EQ(parse_duration("--time", "5m", range), 300);
  EXPECT_EQ(parse_duration("--time", "2h", range), 7200);
  for (const char* text : {"", "m", "5 m", "5M", "0.5", "3h", "-5", "nan", "infm"})
    EXPECT_THROW(parse_duration("--time", text, range), Error) << text;
}

TEST(Seeds, AreAnyNumberOf64Bits) {
  EXPECT_EQ(parse_seed("--seed", "18446744073709551615"), ~std::uint64_t{0});
  for (const char* text : {"", "-1", "18446744073709551616", "1K"})
    EXPECT_THROW(parse_seed("--seed", text), Error) << text;
}

}  // namespace
}  // namespace ebbtide::cli
