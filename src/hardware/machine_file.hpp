// Hardware files: a Machine as TOML. docs/hardware.md describes the format.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/hardware/machine.hpp"

namespace ebbtide::hardware {

inline constexpr std::uint64_t kMaxMachineFileBytes = 1 << 20;  // real ones have under 10 KiB

// Throws Error(kBadFile) that names file, line and key: TOML that does not parse, a key that is
// missing, unknown, there twice, of the wrong type, without a unit or with an unknown one, out of
// range, or at odds with another. `file` is what messages call the text.
Machine parse_machine(std::string_view toml, std::string_view file);
// Blocks. As parse_machine; throws Error with the errno where the file cannot be read.
Machine read_machine_file(const std::filesystem::path& path);

// A machine as the text of a hardware file, which parse_machine reads back as the same bits.
// `sources` are written beside their keys: {"link.alone", "measured"}.
// Requires sources of one line each, under keys that the text has.
using Sources = std::map<std::string, std::string, std::less<>>;
std::string machine_text(const Machine& machine, const Sources& sources = {});
// Blocks. Replaces what is there; throws Error with the errno.
void write_machine_file(const std::filesystem::path& path, const Machine& machine,
                        const Sources& sources = {});

// Every key that a file can have, with the tables it is in: "device.peak.bf16".
const std::vector<std::string>& machine_keys();

}  // namespace ebbtide::hardware
