#include "src/hardware/quantity.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "ebbtide/error.hpp"

namespace ebbtide::hardware {
namespace {

struct Unit {
  std::string_view name;
  double scale;
  bool is_written = true;  // false for another name of a unit
};

constexpr double kKi = 1024;
constexpr double kBitsPerByte = 8;
// The order decides between texts of one length, and is that of messages.
constexpr std::array kByteUnits{
    Unit{"TiB", kKi* kKi* kKi* kKi},
    Unit{"GiB", kKi* kKi* kKi},
    Unit{"MiB", kKi* kKi},
    Unit{"KiB", kKi},
    Unit{"PB", 1e15},
    Unit{"TB", 1e12},
    Unit{"GB", 1e9},
    Unit{"MB", 1e6},
    Unit{"KB", 1e3},
    Unit{"B", 1},
};
constexpr std::array kByteRateUnits{
    Unit{"TB/s", 1e12},
    Unit{"GB/s", 1e9},
    Unit{"MB/s", 1e6},
    Unit{"B/s", 1},
    Unit{"TiB/s", kKi* kKi* kKi* kKi},
    Unit{"GiB/s", kKi* kKi* kKi},
    Unit{"MiB/s", kKi* kKi},
    Unit{"Gbit/s", 1e9 / kBitsPerByte, false},
};
constexpr std::array kFlopUnits{
    Unit{"PFLOP", 1e15}, Unit{"TFLOP", 1e12}, Unit{"GFLOP", 1e9},
    Unit{"MFLOP", 1e6},  Unit{"FLOP", 1},
};
constexpr std::array kFlopRateUnits{
    Unit{"PFLOP/s", 1e15},      Unit{"TFLOP/s", 1e12}, Unit{"GFLOP/s", 1e9},
    Unit{"MFLOP/s", 1e6},       Unit{"FLOP/s", 1},     Unit{"TFLOPS", 1e12, false},
    Unit{"GFLOPS", 1e9, false},
};
constexpr std::array kSecondUnits{
    Unit{"s", 1},
    Unit{"ms", 1e-3},
    Unit{"us", 1e-6},
    Unit{"ns", 1e-9},
};

std::span<const Unit> units_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::kBytes:
      return kByteUnits;
    case Dimension::kBytesPerSecond:
      return kByteRateUnits;
    case Dimension::kFlops:
      return kFlopUnits;
    case Dimension::kFlopsPerSecond:
      return kFlopRateUnits;
    case Dimension::kSeconds:
      break;
  }
  return kSecondUnits;
}

std::optional<double> scale_of(std::string_view name, Dimension dimension) {
  for (const Unit& unit : units_of(dimension))
    if (unit.name == name) return unit.scale;
  return std::nullopt;
}

// number * scale. Scales under one are applied by division: 1 / 1e-6 is exactly 1e6, and x / 1e6 is
// the number nearest to what was written, which x * 1e-6 is not.
double scaled(double number, double scale) {
  return scale < 1 ? number / std::round(1 / scale) : number * scale;
}

bool same_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

// What may have been meant by a unit that is none of the dimension's.
std::string hint(std::string_view name, Dimension dimension) {
  if (name.ends_with("b/s") && dimension == Dimension::kBytesPerSecond)
    return fmt::format("; write {0}B/s for bytes, {0}bit/s for bits",
                       name.substr(0, name.size() - 3));
  for (const Unit& unit : units_of(dimension)) {
    const bool lacks_per_second =
        unit.name.ends_with("/s") && unit.name.substr(0, unit.name.size() - 2) == name;
    if (lacks_per_second || same_but_for_case(unit.name, name))
      return fmt::format("; did you mean {}?", unit.name);
  }
  return {};
}

std::string names_of(Dimension dimension) {
  std::string names;
  for (const Unit& unit : units_of(dimension))
    names += fmt::format("{}{}", names.empty() ? "" : ", ", unit.name);
  return names;
}

}  // namespace

double parse_quantity(std::string_view where, std::string_view text, Dimension dimension) {
  const auto refuse = [&](const std::string& why) {
    throw Error(Errc::kBadFile, fmt::format("{}: '{}' {}", where, text, why));
  };
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !std::isfinite(number)) refuse("does not begin with a finite number");
  if (std::signbit(number)) refuse("is negative");
  std::string_view unit(after, static_cast<std::size_t>(end - after));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.empty()) refuse(fmt::format("has no unit; units here: {}", names_of(dimension)));
  const std::optional<double> scale = scale_of(unit, dimension);
  if (!scale)
    refuse(fmt::format("has the unknown unit '{}'{}; units here: {}", unit, hint(unit, dimension),
                       names_of(dimension)));
  const double value = scaled(number, *scale);
  if (!std::isfinite(value)) refuse("is too large");
  return value;
}

std::string quantity_text(double value, Dimension dimension) {
  EBBTIDE_CHECK(std::isfinite(value) && value >= 0, fmt::format("{}", value));
  std::string shortest;
  for (const Unit& unit : units_of(dimension)) {
    const double number = unit.scale < 1 ? value * std::round(1 / unit.scale) : value / unit.scale;
    // "200 GB/s", not "0.2 TB/s"; what is under one of every unit is left to the unit itself.
    if (!unit.is_written || (number < 1 && unit.scale != 1)) continue;
    const std::string text = fmt::format("{} {}", number, unit.name);
    if (!std::isfinite(number) || parse_quantity("", text, dimension) != value) continue;
    if (shortest.empty() || text.size() < shortest.size()) shortest = text;
  }
  return shortest;
}

}  // namespace ebbtide::hardware
