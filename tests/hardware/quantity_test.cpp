#include "src/hardware/quantity.hpp"

#include <gtest/gtest.h>

#include <string>

#include "ebbtide/error.hpp"

namespace ebbtide::hardware {
namespace {

double bytes(std::string_view text) {
  return parse_quantity("here", text, Dimension::kBytes);
}
double rate(std::string_view text) {
  return parse_quantity("here", text, Dimension::kBytesPerSecond);
}
double flop_rate(std::string_view text) {
  return parse_quantity("here", text, Dimension::kFlopsPerSecond);
}
double seconds(std::string_view text) {
  return parse_quantity("here", text, Dimension::kSeconds);
}

std::string refusal(std::string_view text, Dimension dimension) {
  try {
    parse_quantity("here", text, dimension);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::kBadFile));
    return error.what();
  }
  return "";
}

void expect_refused(std::string_view text, Dimension dimension, const std::string& why) {
  const std::string message = refusal(text, dimension);
  EXPECT_TRUE(message.starts_with("here: '" + std::string(text) + "' ")) << message;
  EXPECT_NE(message.find(why), std::string::npos) << message;
}

TEST(Quantity, BinaryUnitsArePowersOf1024AndDecimalOnesOf1000) {
  EXPECT_EQ(bytes("3 KiB"), 3072);
  EXPECT_EQ(bytes("81559 MiB"), 81559.0 * 1048576);
  EXPECT_EQ(bytes("24 GiB"), 25769803776.0);
  EXPECT_EQ(bytes("1 TiB"), 1099511627776.0);
  EXPECT_EQ(bytes("4 KB"), 4e3);
  EXPECT_EQ(bytes("4 TB"), 4e12);
  EXPECT_EQ(bytes("7 B"), 7);
}

TEST(Quantity, RatesAreBytesASecond) {
  EXPECT_EQ(rate("25 GB/s"), 25e9);
  EXPECT_EQ(rate("2 GiB/s"), 2147483648.0);
  EXPECT_EQ(rate("1.675GB/s"), 1.675e9);
  EXPECT_EQ(rate("200 Gbit/s"), 25e9);
  EXPECT_EQ(rate("3.5 TB/s"), 3.5e12);
}

TEST(Quantity, FlopsAreWrittenBothWays) {
  EXPECT_EQ(flop_rate("165.2 TFLOP/s"), 165.2e12);
  EXPECT_EQ(flop_rate("165.2 TFLOPS"), 165.2e12);
  EXPECT_EQ(flop_rate("404 GFLOP/s"), 404e9);
  EXPECT_EQ(parse_quantity("here", "1 GFLOP", Dimension::kFlops), 1e9);
}

// 10 * 1e-6 is not the double nearest to 1e-5.
TEST(Quantity, TimesAreTheNearestNumberOfSeconds) {
  EXPECT_EQ(seconds("10 us"), 1e-5);
  EXPECT_EQ(seconds("3 us"), 3e-6);
  EXPECT_EQ(seconds("7 ns"), 7e-9);
  EXPECT_EQ(seconds("1 ms"), 1e-3);
  EXPECT_EQ(seconds("2 s"), 2);
  EXPECT_EQ(seconds("0 us"), 0);
}

TEST(Quantity, OneWithoutAUnitIsRefused) {
  expect_refused("25", Dimension::kBytesPerSecond, "has no unit; units here: TB/s, GB/s");
  expect_refused("25 ", Dimension::kBytes, "has no unit; units here: TiB, GiB");
}

TEST(Quantity, AnUnknownUnitIsNamedWithThoseKnown) {
  expect_refused("25 parsec/s", Dimension::kBytesPerSecond, "unknown unit 'parsec/s'; units here:");
  expect_refused("10 min", Dimension::kSeconds, "unknown unit 'min'; units here: s, ms, us, ns");
}

TEST(Quantity, ASlipInAUnitIsHintedAt) {
  expect_refused("25 GB", Dimension::kBytesPerSecond, "did you mean GB/s?");
  expect_refused("165 TFLOP", Dimension::kFlopsPerSecond, "did you mean TFLOP/s?");
  expect_refused("24 gib", Dimension::kBytes, "did you mean GiB?");
  expect_refused("200 Gb/s", Dimension::kBytesPerSecond, "GB/s for bytes, Gbit/s for bits");
}

TEST(Quantity, WhatIsNoFiniteNumberFromZeroUpIsRefused) {
  expect_refused("-25 GB/s", Dimension::kBytesPerSecond, "is negative");
  expect_refused("fast", Dimension::kBytesPerSecond, "finite number");
  expect_refused("", Dimension::kBytes, "finite number");
  expect_refused("inf GB/s", Dimension::kBytesPerSecond, "finite number");
  expect_refused("nan s", Dimension::kSeconds, "finite number");
  expect_refused("1e400 B", Dimension::kBytes, "finite number");
  expect_refused("1e300 TB", Dimension::kBytes, "too large");
}

TEST(Quantity, IsWrittenShort) {
  EXPECT_EQ(quantity_text(165.2e12, Dimension::kFlopsPerSecond), "165.2 TFLOP/s");
  EXPECT_EQ(quantity_text(1008e9, Dimension::kBytesPerSecond), "1008 GB/s");
  EXPECT_EQ(quantity_text(25769803776.0, Dimension::kBytes), "24 GiB");
  EXPECT_EQ(quantity_text(4e12, Dimension::kBytes), "4 TB");
  EXPECT_EQ(quantity_text(1e-5, Dimension::kSeconds), "10 us");
  EXPECT_EQ(quantity_text(0, Dimension::kSeconds), "0 s");
}

// Measured rates have all their digits.
TEST(Quantity, ReadsBackAsTheSameBits) {
  for (const Dimension dimension :
       {Dimension::kBytes, Dimension::kBytesPerSecond, Dimension::kFlops,
        Dimension::kFlopsPerSecond, Dimension::kSeconds}) {
    double value = 1e-7 / 3;
    for (int i = 0; i < 400; ++i, value *= 1.1234567) {
      const std::string text = quantity_text(value, dimension);
      EXPECT_EQ(parse_quantity("here", text, dimension), value) << text;
    }
  }
}

}  // namespace
}  // namespace ebbtide::hardware
