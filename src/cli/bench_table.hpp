// What `ebbtide bench` measured, for people: a table with a unit on each figure.
#pragma once

#include <string>

#include "src/measure/figures.hpp"
#include "src/measure/machine_of.hpp"

namespace ebbtide::cli {

std::string table_text(const measure::Figures& figures, const hardware::Machine& machine);

}  // namespace ebbtide::cli
