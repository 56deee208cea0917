#!/usr/bin/env python3
"""Writes the C++ source that holds hardware files as text.

    embed_machines.py OUTPUT.cpp FILE.toml...
"""

import pathlib
import sys

SOURCE = """// Made of hardware/*.toml by the build.
#include <array>

#include "src/hardware/known_machines.hpp"

namespace ebbtide::hardware {{
namespace {{

constexpr std::array kFiles{{
{files}
}};

}}  // namespace

std::span<const MachineFile> known_machine_files() {{
  return kFiles;
}}

}}  // namespace ebbtide::hardware
"""
DELIMITER = "hardware"


def entry(path):
    text = path.read_text(encoding="utf-8")
    if f"){DELIMITER}\"" in text:
        sys.exit(f"{path}: holds the end of a raw string")
    return f'    MachineFile{{"{path.stem}", R"{DELIMITER}({text}){DELIMITER}"}},'


def main(output, names):
    files = sorted((pathlib.Path(name) for name in names), key=lambda path: path.stem)
    source = SOURCE.format(files="\n".join(entry(path) for path in files))
    pathlib.Path(output).write_text(source, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
