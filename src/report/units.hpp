// How quantities are written for people.
#pragma once

#include <cstdint>
#include <string>

namespace ebbtide::report {

std::string bytes_text(std::uint64_t bytes);  // "1.50 GiB", "512 bytes"
std::string seconds_text(double seconds);     // "850 ms", "12.3 s", "1 h 04 min"
std::string tokens_text(double tokens);       // "12,345"

}  // namespace ebbtide::report
