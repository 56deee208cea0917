// Names of errno values, for messages that people search for.
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <string>

namespace ebbtide::tiers {

// "EPERM", or "errno 1234" for one without a name.
inline std::string errno_name(int error) {
  const char* const name = ::strerrorname_np(error);
  return name ? name : fmt::format("errno {}", error);
}

// "EPERM (Operation not permitted)".
inline std::string errno_text(int error) {
  const char* const text = ::strerrordesc_np(error);
  return text ? fmt::format("{} ({})", errno_name(error), text) : errno_name(error);
}

}  // namespace ebbtide::tiers
