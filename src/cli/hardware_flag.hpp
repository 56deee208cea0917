// --hardware of the subcommands that run on this machine.
#pragma once

#include <string>

#include "ebbtide/hardware.hpp"

namespace ebbtide::cli {

// The speeds of a known machine or a hardware file, for one rank. Throws Error(kBadUsage).
HardwareModel hardware_named(const std::string& name, DType dtype);

}  // namespace ebbtide::cli
