#include "src/cli/quantities.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "ebbtide/error.hpp"

namespace ebbtide::cli {
namespace {

struct Unit {
  std::string_view name;
  int shift;
};
constexpr std::array<Unit, 4> kSizeUnits{{{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}}};
constexpr std::array<Unit, 3> kCountUnits{{{"", 0}, {"K", 10}, {"M", 20}}};
constexpr std::string_view kSizeHint =
    "sizes are whole numbers with KiB, MiB, GiB or no unit (bytes)";
constexpr std::string_view kCountHint =
    "counts are whole numbers with K (1024), M (1024 x 1024) or no unit";

[[noreturn]] void refuse(std::string_view flag, std::string_view text, std::string_view why) {
  throw Error(Errc::kBadUsage, fmt::format("{} '{}': {}", flag, text, why));
}

// The number and what stands after it.
struct Split {
  std::uint64_t number = 0;
  std::string_view unit;
};

Split split(std::string_view flag, std::string_view text, std::string_view hint) {
  if (text.empty()) refuse(flag, text, fmt::format("is empty; {}", hint));
  if (text.front() == '-') refuse(flag, text, fmt::format("is negative; {}", hint));
  Split parts;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parts.number);
  if (error == std::errc::result_out_of_range) refuse(flag, text, "is past 2^63 - 1");
  if (error != std::errc()) refuse(flag, text, fmt::format("is not a number; {}", hint));
  parts.unit = text.substr(static_cast<std::size_t>(end - text.data()));
  return parts;
}

// number << shift, refused past 2^63 - 1.
std::uint64_t scaled(std::string_view flag, std::string_view text, const Split& parts, int shift) {
  if (parts.number > (static_cast<std::uint64_t>(INT64_MAX) >> shift))
    refuse(flag, text, "is past 2^63 - 1");
  return parts.number << shift;
}

void check_range(std::string_view flag, std::string_view text, std::uint64_t value,
                 const Range& range, std::string_view unit) {
  const auto number = static_cast<std::int64_t>(value);
  if (number < range.least)
    refuse(flag, text, fmt::format("must be at least {}{}", range.least, unit));
  if (number > range.most)
    refuse(flag, text, fmt::format("must be at most {}{}", range.most, unit));
}

std::string unit_hint(std::string_view unit, std::string_view digits) {
  for (const char letter : {'K', 'M', 'G'}) {
    const bool same = !unit.empty() && (unit.front() == letter || unit.front() == letter + 32);
    if (same && letter != 'G') return fmt::format("; as a size write {}{}iB", digits, letter);
    if (same) return fmt::format("; write {}GiB", digits);
  }
  return {};
}

}  // namespace

std::uint64_t parse_size(std::string_view flag, std::string_view text, const Range& bytes) {
  const Split parts = split(flag, text, kSizeHint);
  for (const Unit& unit : kSizeUnits) {
    if (parts.unit != unit.name) continue;
    const std::uint64_t value = scaled(flag, text, parts, unit.shift);
    check_range(flag, text, value, bytes, " bytes");
    return value;
  }
  const std::string digits = fmt::format("{}", parts.number);
  refuse(flag, text,
         fmt::format("has the unknown unit '{}'; {}{}", parts.unit, kSizeHint,
                     unit_hint(parts.unit, digits)));
}

double parse_rate(std::string_view flag, std::string_view text) {
  constexpr std::string_view kPerSecond = "/s";
  if (!text.ends_with(kPerSecond)) refuse(flag, text, "is not a rate; write one like 11GiB/s");
  const std::string_view size = text.substr(0, text.size() - kPerSecond.size());
  return static_cast<double>(parse_size(flag, size, {.least = 1}));
}

std::int64_t parse_count(std::string_view flag, std::string_view text, const Range& things) {
  const Split parts = split(flag, text, kCountHint);
  for (const Unit& unit : kCountUnits) {
    if (parts.unit != unit.name) continue;
    const std::uint64_t value = scaled(flag, text, parts, unit.shift);
    check_range(flag, text, value, things, "");
    return static_cast<std::int64_t>(value);
  }
  refuse(flag, text, fmt::format("has the unknown unit '{}'; {}", parts.unit, kCountHint));
}

std::uint64_t parse_seed(std::string_view flag, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    refuse(flag, text, "is not a whole number from 0 to 2^64 - 1");
  return value;
}

double parse_duration(std::string_view flag, std::string_view text, const NumberRange& seconds) {
  constexpr std::string_view kHint = "durations are numbers with s, m, h or no unit (seconds)";
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const double factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc() || factor == 0 || !std::isfinite(value))
    refuse(flag, text, fmt::format("is no duration; {}", kHint));
  if (value * factor < seconds.least || value * factor > seconds.most)
    refuse(flag, text, fmt::format("must be from {} to {} seconds", seconds.least, seconds.most));
  return value * factor;
}

double parse_number(std::string_view flag, std::string_view text, const NumberRange& range) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    refuse(flag, text, "is not a finite number");
  if (value < range.least || value > range.most)
    refuse(flag, text, fmt::format("must be from {} to {}", range.least, range.most));
  return value;
}

}  // namespace ebbtide::cli
