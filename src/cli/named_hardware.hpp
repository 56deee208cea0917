// What --hardware names, for commands that run.
#pragma once

#include <string>

#include "ebbtide/hardware.hpp"
#include "ebbtide/types.hpp"

namespace ebbtide::cli {

// Of a known machine or a hardware file. Throws Error(kBadUsage).
HardwareModel hardware_named(const std::string& name, DType dtype);

}  // namespace ebbtide::cli
