// Machines by name. The files of hardware/ are built into the program, so that their names work
// wherever it runs.
#pragma once

#include <span>
#include <string_view>

#include "src/hardware/machine.hpp"

namespace ebbtide::hardware {

struct MachineFile {
  std::string_view name;  // of the file, without ".toml": "rtx4090x8"
  std::string_view text;
};

// In the order of their names.
std::span<const MachineFile> known_machine_files();

// What `--hardware` names: a file if it has a slash or ends in ".toml", else one of the known.
// Blocks. Throws Error(kBadUsage), which lists them, for an unknown name; else as
// read_machine_file.
Machine load_machine(std::string_view name_or_path);

}  // namespace ebbtide::hardware
