#include "src/hardware/known_machines.hpp"

#include <fmt/format.h>

#include <string>

#include "ebbtide/error.hpp"
#include "src/hardware/machine_file.hpp"

namespace ebbtide::hardware {

Machine load_machine(std::string_view name_or_path) {
  if (name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(".toml"))
    return read_machine_file(name_or_path);
  std::string names;
  for (const MachineFile& file : known_machine_files()) {
    if (file.name == name_or_path)
      return parse_machine(file.text, fmt::format("hardware/{}.toml", file.name));
    names += fmt::format("{}{}", names.empty() ? "" : ", ", file.name);
  }
  throw Error(Errc::kBadUsage,
              fmt::format("no hardware '{}'; known: {}; or give a file, as ./{}.toml", name_or_path,
                          names, name_or_path));
}

}  // namespace ebbtide::hardware
