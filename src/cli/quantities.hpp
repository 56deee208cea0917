// Quantities as a user writes them on a command line or in a config file. Strict: the whole text
// must be one, or an Error(kBadUsage) names the flag, quotes the text and hints at what was meant.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ebbtide::cli {

// A value outside is refused; the largest any flag takes is 2^63 - 1.
struct Range {
  std::int64_t least = 0;
  std::int64_t most = INT64_MAX;
};

// Bounds of a decimal number, both allowed.
struct NumberRange {
  double least = 0;
  double most = 0;
};

// Bytes: digits, then KiB, MiB or GiB or nothing: "65536", "64KiB".
std::uint64_t parse_size(std::string_view flag, std::string_view text, const Range& bytes);
// Bytes a second: a size, then "/s": "11GiB/s".
double parse_rate(std::string_view flag, std::string_view text);
// Things counted: digits, then K (1024) or M (1024 * 1024) or nothing: "8K".
std::int64_t parse_count(std::string_view flag, std::string_view text, const Range& things);
// Seconds: a decimal number, then s, m or h or nothing (seconds): "90", "5m".
double parse_duration(std::string_view flag, std::string_view text, const NumberRange& seconds);
// Any whole number from 0 to 2^64 - 1.
std::uint64_t parse_seed(std::string_view flag, std::string_view text);

// A finite decimal number.
double parse_number(std::string_view flag, std::string_view text, const NumberRange& range);

}  // namespace ebbtide::cli
