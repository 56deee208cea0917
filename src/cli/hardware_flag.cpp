#include "src/cli/hardware_flag.hpp"

#include <fmt/format.h>

#include "ebbtide/error.hpp"
#include "src/hardware/known_machines.hpp"
#include "src/hardware/rank_view.hpp"

namespace ebbtide::cli {

HardwareModel hardware_named(const std::string& name, DType dtype) {
  try {
    return hardware::hardware_of(hardware::load_machine(name), dtype, 1);
  } catch (const Error& error) {
    throw Error(Errc::kBadUsage, fmt::format("--hardware: {}", error.what()));
  }
}

}  // namespace ebbtide::cli
